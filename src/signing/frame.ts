/** Each field with its count of bytes before it, so that no two lists of fields are the same message. */
export function frame(fields: readonly string[]): Buffer {
  return Buffer.concat(
    fields.flatMap((field) => {
      const bytes = Buffer.from(field)
      const count = Buffer.alloc(4)
      count.writeUInt32BE(bytes.length)
      return [count, bytes]
    }),
  )
}
