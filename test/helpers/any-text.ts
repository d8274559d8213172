import fc from 'fast-check'

/** Texts of any code points, lone surrogates included. The library's own unit for them takes seconds to make. */
export const anyText = (maxLength = 10): fc.Arbitrary<string> => fc.string({ unit: CODE_POINT, maxLength })

const CODE_POINT = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
