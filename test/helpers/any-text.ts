import fc from 'fast-check'

/** Texts of any code points but surrogates. The library's own unit for them takes seconds to make. */
export const anyText = (maxLength = 10): fc.Arbitrary<string> => fc.string({ unit: CHARACTER, maxLength })

const [FIRST_SURROGATE, SURROGATES] = [0xd800, 0x800]

const CHARACTER = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES))
