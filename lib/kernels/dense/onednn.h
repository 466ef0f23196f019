/* Descriptions of matrices for oneDNN: the interface of oneDNN 3, which hands out handles to
 * objects of its own, and the same on top of oneDNN 2, where a description is a struct. */
#ifndef GNN_KERNELS_ONEDNN_H
#define GNN_KERNELS_ONEDNN_H

#include <lib/base/base.h>

#include <dnnl.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t gnn__layout_view_t;
typedef dnnl_memory_desc_t gnn__layout_t; /* released by gnn__layout_free */
#else
typedef const dnnl_memory_desc_t *gnn__layout_view_t;
typedef dnnl_memory_desc_t *gnn__layout_t;
#endif

static inline void gnn__layout_free(gnn__layout_t layout)
{
#if DNNL_VERSION_MAJOR >= 3
    if (layout)
        dnnl_memory_desc_destroy(layout);
#else
    gnn_free(layout);
#endif
}

/* An owned copy; NULL without memory. */
static inline gnn__layout_t gnn__layout_copy(gnn__layout_view_t from)
{
    gnn__layout_t copy;
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_clone(&copy, from) == dnnl_success ? copy : NULL;
#else
    if (gnn__new(&copy, 1, sizeof *copy, "a layout") != GNN_OK)
        return NULL;
    *copy = *from;
    return copy;
#endif
}

/* A matrix whose elements lie at these strides; strides NULL: in the order that oneDNN chooses.
 * False, and *made is NULL, where oneDNN refuses it. */
static inline bool gnn__layout_new(gnn__layout_t *made, dnnl_data_type_t type,
                                   const dnnl_dims_t dims, const dnnl_dim_t *strides)
{
#if DNNL_VERSION_MAJOR >= 3
    if ((strides ? dnnl_memory_desc_create_with_strides(made, 2, dims, type, strides)
                 : dnnl_memory_desc_create_with_tag(made, 2, dims, type, dnnl_format_tag_any)) !=
        dnnl_success)
        *made = NULL;
#else
    dnnl_memory_desc_t plain;
    const bool fine = (strides ? dnnl_memory_desc_init_by_strides(&plain, 2, dims, type, strides)
                               : dnnl_memory_desc_init_by_tag(&plain, 2, dims, type,
                                                              dnnl_format_tag_any)) == dnnl_success;
    *made = fine ? gnn__layout_copy(&plain) : NULL;
#endif
    return *made != NULL;
}

/* C = A B, plus the bias unless that is NULL. */
static inline dnnl_status_t gnn__matmul_describe(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                                 gnn__layout_view_t a, gnn__layout_view_t b,
                                                 gnn__layout_view_t bias, gnn__layout_view_t c,
                                                 const_dnnl_primitive_attr_t attributes)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(made, engine, a, b, bias, c, attributes);
#else
    dnnl_matmul_desc_t product;
    const dnnl_status_t status = dnnl_matmul_desc_init(&product, a, b, bias, c);
    return status == dnnl_success
               ? dnnl_primitive_desc_create(made, &product, attributes, engine, NULL)
               : status;
#endif
}

/* The result is added to what C holds. */
static inline dnnl_status_t gnn__matmul_add(dnnl_post_ops_t after)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_sum(after, 1, 0, dnnl_data_type_undef);
#else
    return dnnl_post_ops_append_sum(after, 1);
#endif
}

#endif
