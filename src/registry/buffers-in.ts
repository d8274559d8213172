export function buffersIn(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>()
  collect(value, buffers)
  return [...buffers]
}

function collect(value: unknown, buffers: Set<ArrayBuffer>): void {
  if (typeof value !== 'object' || value === null) return
  if (ArrayBuffer.isView(value)) buffers.add(value.buffer as ArrayBuffer)
  else if (!Array.isArray(value)) for (const member of Object.values(value)) collect(member, buffers)
  // Arrays are uniform, and those of plain values are long.
  else if (typeof value[0] === 'object') for (const element of value) collect(element, buffers)
}
