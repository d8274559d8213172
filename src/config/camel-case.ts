type CamelCase<Name> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name

export type InCamelCase<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { [Name in keyof Value as CamelCase<Name>]: InCamelCase<Value[Name]> }
    : Value

/** `{ budget_ms: 1 }` → `{ budgetMs: 1 }`, at every depth outside arrays. */
export function inCamelCase<Value>(value: Value): InCamelCase<Value> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as InCamelCase<Value>
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      inCamelCase(member),
    ]),
  ) as InCamelCase<Value>
}
