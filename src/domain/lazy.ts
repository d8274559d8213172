/** Makes a value on first use. A promise that rejects is dropped, so the next call tries again. */
export function lazy<Value>(make: () => Value): () => Value {
  let value: Value | undefined
  const drop = (): void => {
    value = undefined
  }
  return () => {
    if (value !== undefined) return value
    value = make()
    if (value instanceof Promise) value.catch(drop)
    return value
  }
}
