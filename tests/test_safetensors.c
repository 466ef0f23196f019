/* safetensors: round trips, and refusals with their messages. */
#include "io_bytes.h"

#include <lib/data/arrays/arrays.h>

static const int32_t six[6] = {1, -2, 3, -4, 5, -6};
static const double halves[3] = {0.5, -1.5, 2.25};

START_TEST(safetensors_round_trip)
{
    static const uint16_t brains[2] = {0x3f80, 0xc020};
    static const char *const metadata[][2] = {{"format", "libgnn"}, {"quote \"\\\n", "caf\xc3\xa9"}};
    gnn_array_t arrays[SAMPLES + 1];
    gnn_arrays_t *got;
    static bytes_t b;
    sample(arrays);
    arrays[SAMPLES] = (gnn_array_t){"bf", GNN_DTYPE_BFLOAT16, 1, {2}, 2, brains};
    ck_ok(gnn_safetensors_write(in_folder("a.safetensors"), SAMPLES + 1, arrays, 2, metadata));
    ck_ok(gnn_safetensors_read(&got, in_folder("a.safetensors"), NULL));
    check_sample(got, arrays, SAMPLES + 1);
    ck_assert_str_eq(gnn_arrays_metadata(got, "format"), "libgnn");
    ck_assert_str_eq(gnn_arrays_metadata(got, metadata[1][0]), metadata[1][1]);
    ck_assert_ptr_null(gnn_arrays_metadata(got, "other"));
    gnn_arrays_free(got);
    ck_ok(gnn_npz_write(in_folder("a.npz"), SAMPLES, arrays));
    ck_fails(gnn_safetensors_read(&got, in_folder("a.npz"), NULL), GNN_EFORMAT, "is a zip archive");
    remove(in_folder("a.npz"));
    read_bytes(in_folder("a.safetensors"), &b);
    ck_assert_int_eq(b.at[0] % 8, 0);
    ck_assert_int_eq(b.at[8], '{');
    ck_ok(gnn_safetensors_write(in_folder("none.safetensors"), 0, NULL, 0, NULL));
    ck_ok(gnn_safetensors_read(&got, in_folder("none.safetensors"), NULL));
    check_sample(got, arrays, 0);
    gnn_arrays_free(got);
    ck_assert_int_eq(count_files(0), 2);
}
END_TEST

START_TEST(safetensors_misaligned_and_unordered)
{
    static bytes_t b;
    b.n = 0;
    put_safetensors(
        &b,
        "{\"d\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[1,25]},\"z\":{\"dtype\":\"F32\",\"shape\":[0,4294967296],"
        "\"data_offsets\":[25,25]},\"c\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}   ",
        "\7", 1);
    put(&b, halves, sizeof halves);
    gnn_arrays_t *got = accepted(gnn_safetensors_read, &b);
    gnn_real_t reals[3];
    gnn__array_reals(gnn_arrays_find(got, "d"), reals);
    for (int k = 0; k < 3; k++)
        ck_assert(reals[k] == (gnn_real_t)halves[k]);
    ck_assert(gnn_array_get(gnn_arrays_find(got, "c"), 0) == 7);
    ck_assert_int_eq(gnn_arrays_find(got, "z")->count, 0);
    gnn_arrays_free(got);
}
END_TEST

#define TENSOR(rest) "{\"a\":{\"dtype\":\"I32\"," rest "}"
static const struct {
    const char *header, *words;
} bad_safetensors[] = {
    {"", "does not start with '{'"},
    {" {}", "does not start with '{'"},
    {"[]", "does not start with '{'"},
    {"{}", "the tensors end at byte 0 of the data, the file holds 24"},
    {"{}{}", "header"},
    {"{\"a\":", "header"},
    {"{\"a\":[[[[[[]]]]]]}", "levels deep"},
    {"{\"a\":7}", "a: an object is expected"},
    {"{\"a\":{}}", "a: dtype is missing"},
    {"{\"a\":{\"dtype\":7}}", "dtype is missing or no string"},
    {"{\"a\":{\"dtype\":\"F8_E4M3\"}}", "dtype F8_E4M3 is not known"},
    {TENSOR("\"data_offsets\":[0,24]}"), "shape is missing"},
    {TENSOR("\"shape\":[6]}"), "data_offsets is missing"},
    {TENSOR("\"shape\":[6],\"data_offsets\":[0]}"), "data_offsets is missing or no list of two"},
    {TENSOR("\"shape\":[6],\"data_offsets\":[0,24,24]}"), "no list of two"},
    {TENSOR("\"shape\":[6],\"data_offsets\":[0,24],\"x\":1}"), "keys other than"},
    {TENSOR("\"shape\":[6.0],\"data_offsets\":[0,24]}"), "shape: an integer"},
    {TENSOR("\"shape\":[-6],\"data_offsets\":[0,24]}"), "shape: an integer"},
    {TENSOR("\"shape\":[9223372036854775808],\"data_offsets\":[0,24]}"), "header"},
    {TENSOR("\"shape\":[4294967296,4294967296],\"data_offsets\":[0,24]}"), "does not fit"},
    {TENSOR("\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}"), "does not fit"},
    {TENSOR("\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}"),
     "declares 4611686018427387904 int32"},
    {TENSOR("\"shape\":[1,1,1,1,1,1,1,1,6],\"data_offsets\":[0,24]}"), "9 dimensions"},
    {TENSOR("\"shape\":[6],\"data_offsets\":[24,0]}"), "its offsets go from 24 to 0"},
    {TENSOR("\"shape\":[5],\"data_offsets\":[0,24]}"),
     "declares 5 int32, its offsets go from 0 to 24"},
    {TENSOR("\"shape\":[5],\"data_offsets\":[0,20]}"),
     "the tensors end at byte 20 of the data, the file holds 24"},
    {TENSOR("\"shape\":[7],\"data_offsets\":[0,28]}"),
     "the tensors end at byte 28 of the data, the file holds 24"},
    {TENSOR("\"shape\":[5],\"data_offsets\":[4,24]}"), "leaving a hole after byte 0"},
    {TENSOR("\"shape\":[4],\"data_offsets\":[0,16]},\"b\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[8,24]}"),
     "overlapping byte 16"},
    {TENSOR("\"shape\":[6],\"data_offsets\":[0,24]},\"a\":{\"dtype\":\"I32\",\"shape\":[6],\"data_offsets\":[0,24]}"),
     "duplicate"},
    {TENSOR("\"dtype\":\"I32\",\"shape\":[6],\"data_offsets\":[0,24]}"), "duplicate"},
    {"{\"__metadata__\":7}", "__metadata__: an object"},
    {"{\"__metadata__\":{\"k\":7}}", "the value of \"k\" is not a string"},
    {"{\"__metadata__\":{\"k\":\"\\u0000\"}}", "header"},
    {"{\"__metadata__\":{\"k\":\"\\ud800\"}}", "header"},
    {"{\"__metadata__\":{\"k\":\"\xff\"}}", "header"},
    {"{\"a\\u0000b\":{}}", "header"},
};

START_TEST(safetensors_bad_headers)
{
    static bytes_t b;
    for (size_t k = 0; k < sizeof bad_safetensors / sizeof bad_safetensors[0]; k++) {
        b.n = 0;
        put_safetensors(&b, bad_safetensors[k].header, six, sizeof six);
        refused(gnn_safetensors_read, &b, NULL, GNN_EFORMAT, bad_safetensors[k].words);
    }
    static const struct {
        uint64_t length;
        const char *words;
    } lengths[] = {{100000001, "at most 100000000"},
                   {100000000, "the file holds 2"},
                   {UINT64_MAX, "18446744073709551615 bytes"},
                   {(uint64_t)1 << 63, "at most"},
                   {3, "the file holds 2"},
                   {0, "does not start"}};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        b.n = 0;
        put_number(&b, lengths[k].length, 8);
        put(&b, "{}", 2);
        refused(gnn_safetensors_read, &b, NULL, GNN_EFORMAT, lengths[k].words);
    }
    refused(gnn_safetensors_read, &(bytes_t){.at = "1234567", .n = 7}, NULL, GNN_EFORMAT,
            "expected at least 8");
}
END_TEST

START_TEST(safetensors_limits)
{
    static bytes_t b;
    b.n = 0;
    put_safetensors(
        &b,
        TENSOR("\"shape\":[3],\"data_offsets\":[0,12]},\"b\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[12,24]}"),
        six, 24);
    gnn_arrays_free(accepted(gnn_safetensors_read, &b));
    refused(gnn_safetensors_read, &b, &(gnn_limits_t){.max_bytes = 23}, GNN_EFORMAT,
            "24 bytes of data, the limit is 23");
    refused(gnn_safetensors_read, &b, &(gnn_limits_t){.max_entries = 1}, GNN_EFORMAT,
            "1 tensors, the limit");
    b.n = 0;
    put_number(&b, 60002, 8);
    put(&b, "{", 1);
    for (int k = 0; k < 30000; k++)
        put(&b, "[,", 2);
    put(&b, "}", 1);
    refused(gnn_safetensors_read, &b, NULL, GNN_EFORMAT, "levels deep");
    for (size_t k = 9; k < 60009; k += 2)
        memcpy(b.at + k, "[]", 2);
    refused(gnn_safetensors_read, &b, NULL, GNN_EFORMAT, "more values than 4096 tensors");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *tests = tcase_create("safetensors");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, safetensors_round_trip);
    tcase_add_test(tests, safetensors_misaligned_and_unordered);
    tcase_add_test(tests, safetensors_bad_headers);
    tcase_add_test(tests, safetensors_limits);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
