/** Each field with its count of bytes before it, so that no two lists of fields are the same message. */
export function frame(fields: readonly string[]): Buffer {
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
