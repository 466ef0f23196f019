/* Faults of readers and writers: every truncation, every damaged byte, every failing allocation,
 * paths that are not files. */
#include "io_bytes.h"

#include <lib/data/arrays/arrays.h>
#include <sys/stat.h>

static const reader_t readers[2] = {gnn_npz_read, gnn_safetensors_read};
static const char *const files[2] = {"a.npz", "a.safetensors"};

static int write_file(int which, int count, const gnn_array_t *arrays)
{
    static const char *const metadata[][2] = {{"config", "{\"in\": 3}"}};
    return which == 0 ? gnn_npz_write(in_folder(files[0]), count, arrays)
                      : gnn_safetensors_write(in_folder(files[1]), count, arrays, 1, metadata);
}

/* A small file of each kind, as bytes. */
static void small_file(int which, bytes_t *b)
{
    gnn_array_t arrays[SAMPLES];
    sample(arrays);
    ck_ok(write_file(which, 3, arrays + 4));
    read_bytes(in_folder(files[which]), b);
}

/* For any bytes: success with readable arrays, or an error with a message and no arrays. */
static int survives(reader_t read, const bytes_t *b)
{
    gnn_arrays_t *arrays = (gnn_arrays_t *)1;
    int rc = read(&arrays, write_bytes("damaged", b->at, b->n), NULL);
    if (rc != GNN_OK) {
        ck_assert_ptr_null(arrays);
        ck_assert_msg(rc == GNN_EFORMAT || rc == GNN_EIO, "%s: %s", gnn_error_string(rc),
                      gnn_error_message());
        ck_assert_msg(strncmp(gnn_error_message(), "damaged", 7) == 0 ||
                          strstr(gnn_error_message(), "/damaged: is empty"),
                      "\"%s\"", gnn_error_message());
        return 0;
    }
    volatile double sum = 0;
    for (int64_t k = 0; k < arrays->count; k++)
        for (int64_t i = 0; i < gnn_arrays_at(arrays, k)->count; i++)
            sum = sum + gnn_array_get(gnn_arrays_at(arrays, k), i);
    gnn_arrays_free(arrays);
    return 1;
}

START_TEST(truncated_at_every_byte)
{
    static bytes_t whole, part;
    small_file(_i, &whole);
    part = whole;
    ck_assert_int_eq(survives(readers[_i], &whole), 1);
    for (part.n = 0; part.n < whole.n; part.n++)
        ck_assert_msg(!survives(readers[_i], &part), "%s was read from its first %zu of %zu bytes",
                      files[_i], part.n, whole.n);
    for (int k = 0; k < 9 && _i == 1; k++) {
        put(&part, "", 1);
        ck_assert_int_eq(survives(readers[_i], &part), k == 0 && part.n == whole.n);
    }
}
END_TEST

START_TEST(every_byte_damaged)
{
    static bytes_t whole, b;
    int read = 0;
    small_file(_i, &whole);
    for (size_t k = 0; k < whole.n; k++)
        for (int way = 0; way < 4; way++) {
            b = whole;
            b.at[k] = (unsigned char)(way == 0   ? b.at[k] ^ 0xff
                                      : way == 1 ? b.at[k] ^ 1
                                      : way == 2 ? b.at[k] + 1
                                                 : 0);
            read += survives(readers[_i], &b);
        }
    ck_assert_int_lt(read, 4 * (int)whole.n);
}
END_TEST

START_TEST(random_bytes_in_random_places)
{
    static bytes_t whole, b;
    uint64_t state = 7;
    small_file(_i, &whole);
    for (int round = 0; round < 3000; round++) {
        b = whole;
        for (int k = 0; k < 1 + round % 8; k++)
            b.at[(size_t)((test_uniform(&state) + 1) / 2 * (double)b.n)] =
                (unsigned char)(128 + 128 * test_uniform(&state));
        survives(readers[_i], &b);
    }
}
END_TEST

START_TEST(paths_that_are_not_files)
{
    reader_t read = readers[_i];
    gnn_arrays_t *arrays = (gnn_arrays_t *)1;
    ck_fails(read(&arrays, in_folder("absent"), NULL), GNN_EIO, "absent: No such file");
    ck_fails(read(&arrays, test_folder, NULL), GNN_EIO, "is a folder, a regular file is expected");
    ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
    ck_fails(read(&arrays, in_folder("fifo"), NULL), GNN_EIO,
             "is a FIFO, a regular file is expected");
    ck_fails(read(&arrays, "/dev/zero", NULL), GNN_EIO, "is a device");
    ck_fails(read(&arrays, write_bytes("empty", "", 0), NULL), GNN_EFORMAT, "is empty");
    ck_fails(read(&arrays, NULL, NULL), GNN_EINVALID, "path is NULL");
    write_bytes("sparse", "", 0);
    ck_assert_int_eq(truncate(in_folder("sparse"), (off_t)1 << 40), 0);
    ck_fails(read(&arrays, in_folder("sparse"), NULL), GNN_EFORMAT, "sparse: ");
    ck_assert_ptr_null(arrays);
    ck_fails(read(NULL, in_folder("empty"), NULL), GNN_EINVALID, "arrays is NULL");
}
END_TEST

/* A sparse file of a declared terabyte. */
START_TEST(a_sparse_terabyte_file_is_refused)
{
    static bytes_t b;
    gnn_arrays_t *arrays;
    b.n = 0;
    put_safetensors(
        &b, "{\"a\":{\"dtype\":\"U8\",\"shape\":[1099511627776],\"data_offsets\":[0,1099511627776]}}",
        "", 0);
    write_bytes("hole", b.at, b.n);
    ck_assert_int_eq(truncate(in_folder("hole"), (off_t)b.n + ((off_t)1 << 40)), 0);
    ck_fails(gnn_safetensors_read(&arrays, in_folder("hole"), NULL), GNN_EFORMAT,
             "1099511627776 bytes of data, the limit is");
}
END_TEST

START_TEST(every_allocation_fails_once)
{
    gnn_array_t arrays[SAMPLES];
    gnn_arrays_t *got = NULL;
    sample(arrays);
    ck_ok(write_file(_i, SAMPLES, arrays));
    int rc = GNN_EMEMORY;
    int64_t n = 1;
    for (; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = readers[_i](&got, in_folder(files[_i]), NULL);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK ||
                  (rc == GNN_EMEMORY && !got && strstr(gnn_error_message(), "no memory")));
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 2 * SAMPLES);
    check_sample(got, arrays, SAMPLES);
    gnn_arrays_free(got);
    rc = GNN_EMEMORY;
    for (n = 1; rc == GNN_EMEMORY; n++) {
        gnn__fail_allocation(n);
        rc = write_file(_i, SAMPLES, arrays);
        gnn__fail_allocation(0);
        ck_assert(rc == GNN_OK || rc == GNN_EMEMORY);
        ck_assert_int_eq(count_files(0), 1);
    }
    ck_ok(rc);
    ck_assert_int_gt(n, 2);
}
END_TEST

START_TEST(writers_refuse)
{
    static const int32_t data[4] = {1, 2, 3, 4};
    const gnn_array_t good = {"a", GNN_DTYPE_INT32, 1, {4}, 4, data};
    gnn_array_t bad = good;
    ck_fails(write_file(_i, 2, (gnn_array_t[]){good, good}), GNN_EINVALID, "a");
    ck_fails(write_file(_i, -1, &good), GNN_EINVALID, "-1 arrays");
    ck_fails(write_file(_i, 1, NULL), GNN_EINVALID, "is NULL");
    bad.count = 5;
    ck_fails(write_file(_i, 1, &bad), GNN_ESHAPE, "array a: .count = 5, expected 4");
    bad = good;
    bad.name = NULL;
    ck_fails(write_file(_i, 1, &bad), GNN_EINVALID, "no name");
    bad = good;
    bad.data = NULL;
    ck_fails(write_file(_i, 1, &bad), GNN_EINVALID, "array a: .data is NULL");
    bad = good;
    bad.dtype = (gnn_dtype_t)99;
    ck_fails(write_file(_i, 1, &bad), GNN_EINVALID, ".dtype = 99");
    bad = good;
    bad.ndim = 9;
    ck_fails(write_file(_i, 1, &bad), GNN_EINVALID, ".ndim = 9");
    bad = (gnn_array_t){"a", GNN_DTYPE_INT32, 2, {INT64_MAX, 2}, 4, data};
    ck_fails(write_file(_i, 1, &bad), GNN_EOVERFLOW, "overflows");
    bad = (gnn_array_t){"a", GNN_DTYPE_INT32, 1, {-1}, -1, data};
    ck_fails(write_file(_i, 1, &bad), GNN_EOVERFLOW, "overflows");
    bad = good;
    bad.name = "\xff\xfe";
    ck_fails(write_file(_i, 1, &bad), _i ? GNN_EINVALID : GNN_EIO, "");
    bad = (gnn_array_t){"a", GNN_DTYPE_BFLOAT16, 1, {4}, 4, data};
    if (_i == 0)
        ck_fails(write_file(_i, 1, &bad), GNN_EUNSUPPORTED, "has no type bfloat16");
    bad.name = "__metadata__";
    if (_i == 1)
        ck_fails(write_file(_i, 1, &bad), GNN_EINVALID, "__metadata__");
    ck_assert_int_eq(count_files(0), 0);
}
END_TEST

START_TEST(writers_leave_the_old_file_when_they_fail)
{
    static const int32_t data[4] = {1, 2, 3, 4};
    static const char *const twice[][2] = {{"k", "1"}, {"k", "2"}};
    const gnn_array_t array = {"a", GNN_DTYPE_INT32, 1, {4}, 4, data};
    static bytes_t before, after;
    ck_fails(gnn_npz_write("/nonexistent/folder/a.npz", 1, &array), GNN_EIO,
             "/nonexistent/folder/a.npz: No such file");
    ck_fails(gnn_safetensors_write("/nonexistent/folder/a", 1, &array, 0, NULL), GNN_EIO,
             "/nonexistent/folder/a: No such file");
    ck_assert_int_eq(mkdir(in_folder("there"), 0700), 0);
    ck_fails(gnn_npz_write(in_folder("there"), 1, &array), GNN_EIO, "is a folder");
    ck_fails(gnn_safetensors_write("/dev/full", 1, &array, 0, NULL), GNN_EIO, "is a device");
    ck_ok(gnn_safetensors_write(in_folder("a"), 1, &array, 0, NULL));
    read_bytes(in_folder("a"), &before);
    ck_fails(gnn_safetensors_write(in_folder("a"), 1, &array, 2, twice), GNN_EINVALID,
             "the name \"k\" is given twice");
    ck_fails(gnn_safetensors_write(in_folder("a"), 1, &array, 1, NULL), GNN_EINVALID, "is NULL");
    ck_assert_uint_eq(read_bytes(in_folder("a"), &after), before.n);
    ck_assert_mem_eq(before.at, after.at, before.n);
    ck_assert_int_eq(count_files(0), 2);
}
END_TEST

START_TEST(elements_convert_to_double)
{
    static const struct {
        gnn_dtype_t dtype;
        uint64_t bits;
        double value;
    } cases[] = {
        {GNN_DTYPE_BOOL, 5, 1},
        {GNN_DTYPE_INT8, 0x80, -128},
        {GNN_DTYPE_UINT8, 0x80, 128},
        {GNN_DTYPE_INT16, 0xffff, -1},
        {GNN_DTYPE_UINT16, 0xffff, 65535},
        {GNN_DTYPE_INT32, 0x80000000, -2147483648.0},
        {GNN_DTYPE_UINT32, 0x80000000, 2147483648.0},
        {GNN_DTYPE_INT64, UINT64_MAX, -1},
        {GNN_DTYPE_UINT64, (uint64_t)1 << 63, 0x1p63},
        {GNN_DTYPE_FLOAT16, 0x3c00, 1},
        {GNN_DTYPE_FLOAT16, 0xc500, -5},
        {GNN_DTYPE_FLOAT16, 0x0001, 0x1p-24},
        {GNN_DTYPE_FLOAT16, 0x7bff, 65504},
        {GNN_DTYPE_FLOAT16, 0xfc00, -INFINITY},
        {GNN_DTYPE_FLOAT16, 0x8000, -0.0},
        {GNN_DTYPE_BFLOAT16, 0x3f80, 1},
        {GNN_DTYPE_BFLOAT16, 0xc020, -2.5},
        {GNN_DTYPE_FLOAT32, 0x40490fdb, 3.1415927410125732},
        {GNN_DTYPE_FLOAT64, 0x3ff8000000000000, 1.5},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const gnn_array_t a = {"a", cases[k].dtype, 0, {0}, 1, &cases[k].bits};
        gnn_real_t real;
        gnn__array_reals(&a, &real);
        ck_assert_msg(gnn_array_get(&a, 0) == cases[k].value, "case %zu gives %g", k,
                      gnn_array_get(&a, 0));
        ck_assert(real == (gnn_real_t)cases[k].value);
    }
    const uint64_t huge = UINT64_MAX, nan = 0x7e00;
    ck_assert_int_eq(gnn__array_int(&(gnn_array_t){"a", GNN_DTYPE_UINT64, 0, {0}, 1, &huge}, 0),
                     INT64_MAX);
    ck_assert(isnan(gnn_array_get(&(gnn_array_t){"a", GNN_DTYPE_FLOAT16, 0, {0}, 1, &nan}, 0)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("io faults");
    TCase *tests = tcase_create("faults");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, truncated_at_every_byte, 0, 2);
    tcase_add_loop_test(tests, every_byte_damaged, 0, 2);
    tcase_add_loop_test(tests, random_bytes_in_random_places, 0, 2);
    tcase_add_loop_test(tests, paths_that_are_not_files, 0, 2);
    tcase_add_test(tests, a_sparse_terabyte_file_is_refused);
    tcase_add_loop_test(tests, every_allocation_fails_once, 0, 2);
    tcase_add_loop_test(tests, writers_refuse, 0, 2);
    tcase_add_test(tests, writers_leave_the_old_file_when_they_fail);
    tcase_add_test(tests, elements_convert_to_double);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
