/** `<namespace>.compute.<domain>@<major.minor.patch>` */
export const VERSIONED_SCHEMA = /^([\w-]+(?:\.[\w-]+)*)\.compute\.([\w.-]+)@(\d{1,9})\.\d{1,9}\.\d{1,9}$/

/** Whether namespace, domain and major version are the same; of other ids, the text. */
export function isSameSchema(one: string, other: string): boolean {
  const [first, second] = [one, other].map((id) => VERSIONED_SCHEMA.exec(id)?.slice(1).join(' ') ?? id)
  return first === second
}
