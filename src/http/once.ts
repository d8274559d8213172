/** Made when it is first asked for, and kept. */
export const once = <Value>(make: () => Value): (() => Value) => {
  let value: Value | undefined
  return () => {
    value ??= make()
    return value
  }
}
