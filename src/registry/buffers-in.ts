/** The memory behind every typed array in a value made of objects and arrays, each piece once. */
export const buffersIn = (value: unknown): ArrayBuffer[] => {
  const buffers = new Set<ArrayBuffer>()
  collect(value, buffers)
  return [...buffers]
}

const collect = (value: unknown, buffers: Set<ArrayBuffer>): void => {
  if (typeof value !== 'object' || value === null) return
  if (ArrayBuffer.isView(value)) buffers.add(value.buffer as ArrayBuffer)
  else if (!Array.isArray(value)) for (const member of Object.values(value)) collect(member, buffers)
  // Where the first is a plain value they all are, and there are many.
  else if (typeof value[0] === 'object') for (const element of value) collect(element, buffers)
}
