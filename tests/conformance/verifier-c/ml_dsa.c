/* ML-DSA-44 of FIPS 204, verification only: OpenSSL has it from 3.5, which Debian 12 has not.
 *
 * Nothing here is secret, so nothing needs to take constant time. */
#include <openssl/evp.h>
#include <string.h>

#include "verifier.h"

enum { N = 256, Q = 8380417, D = 13, TAU = 39, GAMMA1 = 1 << 17, GAMMA2 = (Q - 1) / 88 };
enum { K = 4, L = 4, BETA = 78, OMEGA = 80, SEED = 32, MU = 64 };
enum { T1_SIZE = 320, Z_SIZE = 576, W1_SIZE = 192 };  /* bytes of a packed polynomial */

typedef struct {
    int64_t at[N];  /* 0 to Q - 1 */
} Poly;

static int64_t reduced(int64_t value) {
    value %= Q;
    return value < 0 ? value + Q : value;
}

/* SHAKE over up to two parts. */
static void shake(const EVP_MD *algorithm, Bytes first, Bytes second, uint8_t *into, size_t size) {
    EVP_MD_CTX *context = allocated(EVP_MD_CTX_new());
    if (!EVP_DigestInit_ex(context, algorithm, NULL) || !EVP_DigestUpdate(context, first.data, first.size) ||
        !EVP_DigestUpdate(context, second.data, second.size) || !EVP_DigestFinalXOF(context, into, size))
        unreadable("OpenSSL cannot compute SHAKE");
    EVP_MD_CTX_free(context);
}

/* ---- the number-theoretic transform: algorithms 41 and 42 */

static int64_t zeta(unsigned index) {
    unsigned power = 0;
    int64_t result = 1, base = 1753;
    for (int i = 0; i < 8; i++) power |= (index >> i & 1) << (7 - i);
    for (; power > 0; power >>= 1, base = base * base % Q) {
        if (power & 1) result = result * base % Q;
    }
    return result;
}

static void transform(Poly *poly) {
    int64_t *w = poly->at;
    unsigned m = 0;
    for (int length = 128; length >= 1; length /= 2) {
        for (int start = 0; start < N; start += 2 * length) {
            int64_t z = zeta(++m);
            for (int j = start; j < start + length; j++) {
                int64_t t = z * w[j + length] % Q;
                w[j + length] = reduced(w[j] - t);
                w[j] = reduced(w[j] + t);
            }
        }
    }
}

static void transform_back(Poly *poly) {
    int64_t *w = poly->at;
    unsigned m = 256;
    for (int length = 1; length < N; length *= 2) {
        for (int start = 0; start < N; start += 2 * length) {
            int64_t z = Q - zeta(--m);
            for (int j = start; j < start + length; j++) {
                int64_t t = w[j];
                w[j] = reduced(t + w[j + length]);
                w[j + length] = z * reduced(t - w[j + length]) % Q;
            }
        }
    }
    for (int i = 0; i < N; i++) w[i] = w[i] * 8347681 % Q;
}

/* ---- what is sampled: algorithms 29 and 30 */

static void sample_in_ball(const uint8_t seed[SEED], Poly *c) {
    uint8_t stream[1024];
    uint64_t signs = 0;
    size_t next = 8;
    shake(EVP_shake256(), (Bytes){seed, SEED}, (Bytes){seed, 0}, stream, sizeof stream);
    for (int i = 7; i >= 0; i--) signs = signs << 8 | stream[i];
    memset(c, 0, sizeof *c);
    for (int i = N - TAU; i < N; i++, signs >>= 1) {
        while (next < sizeof stream && stream[next] > i) next++;
        if (next == sizeof stream) unreadable("a signature needs more of SHAKE-256 than is likely");
        int j = stream[next++];
        c->at[i] = c->at[j];
        c->at[j] = signs & 1 ? Q - 1 : 1;
    }
}

static void sample_uniform(const uint8_t rho[SEED], uint8_t column, uint8_t row, Poly *poly) {
    uint8_t stream[3 * 512], place[2] = {column, row};
    int count = 0;
    shake(EVP_shake128(), (Bytes){rho, SEED}, (Bytes){place, 2}, stream, sizeof stream);
    for (size_t i = 0; i < sizeof stream && count < N; i += 3) {
        int64_t value = stream[i] | stream[i + 1] << 8 | (stream[i + 2] & 0x7f) << 16;
        if (value < Q) poly->at[count++] = value;
    }
    if (count < N) unreadable("a key needs more of SHAKE-128 than is likely");
}

/* ---- what is packed */

static int64_t bits_at(const uint8_t *data, size_t first, int width) {
    int64_t value = 0;
    for (int i = 0; i < width; i++) value |= (int64_t)(data[(first + i) / 8] >> ((first + i) % 8) & 1) << i;
    return value;
}

/* False if a coefficient is larger than an honest signer's. */
static bool unpack_z(const uint8_t *data, Poly *z) {
    for (int i = 0; i < N; i++) {
        int64_t value = GAMMA1 - bits_at(data, (size_t)i * 18, 18);
        if (value >= GAMMA1 - BETA || value <= BETA - GAMMA1) return false;
        z->at[i] = reduced(value);
    }
    return true;
}

/* Algorithm 21: there is one way only to pack each hint. */
static bool unpack_hints(const uint8_t *data, uint8_t hints[K][N]) {
    int index = 0;
    memset(hints, 0, K * N);
    for (int i = 0; i < K; i++) {
        int first = index, end = data[OMEGA + i];
        if (end < index || end > OMEGA) return false;
        for (; index < end; index++) {
            if (index > first && data[index - 1] >= data[index]) return false;
            hints[i][data[index]] = 1;
        }
    }
    for (; index < OMEGA; index++) {
        if (data[index] != 0) return false;
    }
    return true;
}

/* Algorithm 40: the high bits of a coefficient, corrected. */
static int use_hint(uint8_t hint, int64_t value) {
    int64_t low = value % (2 * GAMMA2), high;
    if (low > GAMMA2) low -= 2 * GAMMA2;
    high = value - low == Q - 1 ? 0 : (value - low) / (2 * GAMMA2);
    if (value - low == Q - 1) low--;
    if (!hint) return (int)high;
    return (int)(low > 0 ? (high + 1) % 44 : (high + 43) % 44);
}

/* ---- the check: algorithm 8 */

/* One row of what the signer committed to, packed. */
static void committed(const uint8_t *key, int row, const Poly z[L], const Poly *c, const uint8_t *hints,
                      uint8_t *into) {
    Poly sum = {0}, part;
    for (int j = 0; j < L; j++) {
        sample_uniform(key, (uint8_t)j, (uint8_t)row, &part);
        for (int i = 0; i < N; i++) sum.at[i] = (sum.at[i] + part.at[i] * z[j].at[i]) % Q;
    }
    for (int i = 0; i < N; i++)
        part.at[i] = bits_at(key + SEED + row * T1_SIZE, (size_t)i * 10, 10) << D;
    transform(&part);
    for (int i = 0; i < N; i++) sum.at[i] = reduced(sum.at[i] - c->at[i] * part.at[i] % Q);
    transform_back(&sum);
    memset(into, 0, W1_SIZE);
    for (int i = 0; i < N; i++) {
        int value = use_hint(hints[i], sum.at[i]);
        for (int bit = 0; bit < 6; bit++) into[(6 * i + bit) / 8] |= (uint8_t)((value >> bit & 1) << ((6 * i + bit) % 8));
    }
}

bool ml_dsa_44_verifies(const uint8_t key[ML_DSA_44_KEY_SIZE], Bytes message, const uint8_t signature[ML_DSA_44_SIZE]) {
    uint8_t hints[K][N], digest[MU], again[SEED];
    uint8_t said[MU + K * W1_SIZE];  /* the digest of the message, and what was committed to */
    Poly z[L], c;
    Buffer whole = {0};
    for (int i = 0; i < L; i++) {
        if (!unpack_z(signature + SEED + i * Z_SIZE, &z[i])) return false;
        transform(&z[i]);
    }
    if (!unpack_hints(signature + SEED + L * Z_SIZE, hints)) return false;
    shake(EVP_shake256(), (Bytes){key, ML_DSA_44_KEY_SIZE}, (Bytes){key, 0}, digest, MU);
    buffer_add(&whole, digest, MU);
    buffer_add(&whole, "\0\0", 2);  /* not a digest of the message, and no context */
    shake(EVP_shake256(), (Bytes){whole.data, whole.size}, message, said, MU);
    buffer_free(&whole);
    sample_in_ball(signature, &c);
    transform(&c);
    for (int i = 0; i < K; i++) committed(key, i, z, &c, hints[i], said + MU + i * W1_SIZE);
    shake(EVP_shake256(), (Bytes){said, sizeof said}, (Bytes){said, 0}, again, SEED);
    return memcmp(again, signature, SEED) == 0;
}
