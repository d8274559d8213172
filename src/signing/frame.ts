/** Each field with its count of bytes before it, so that no two lists of fields are the same message. */
export function frame(fields: readonly string[]): Buffer {
  return frameOfShort(fields) ?? frameOfAny(fields)
}

/** Written at once, since a field is rarely long or beyond ASCII; `null` where one is. */
function frameOfShort(fields: readonly string[]): Buffer | null {
  let text = ''
  for (const field of fields) {
    if (field.length >= SHORT) return null
    text += `\0\0\0${String.fromCharCode(field.length)}${field}`
  }
  return Buffer.byteLength(text) === text.length ? Buffer.from(text, 'latin1') : null
}

/** From here on a count is no character of ASCII. */
const SHORT = 128

function frameOfAny(fields: readonly string[]): Buffer {
  const lengths = fields.map((field) => Buffer.byteLength(field))
  const framed = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + COUNT_BYTES + length, 0))
  let end = 0
  for (const [n, field] of fields.entries()) {
    end = framed.writeUInt32BE(lengths[n]!, end)
    end += framed.write(field, end)
  }
  return framed
}

const COUNT_BYTES = 4
