import { readFileSync } from 'node:fs'
import { shippedFile } from './shipped-files.ts'

type Schema = { properties?: Record<string, Schema>; items?: Schema; description?: string }

/** The JSON Schema of the gateway file, with the words of the shipped file, which explains every setting. */
export function withDescriptions(schema: object): object {
  const described: Schema = structuredClone(schema)
  for (const [path, words] of wordsByPath(readFileSync(shippedFile('gateway.toml'), 'utf8'))) {
    const member = path
      .split('.')
      .reduce<Schema | undefined>((at, name) => (at?.properties ?? at?.items?.properties)?.[name], described)
    if (member !== undefined) member.description = words
  }
  return described
}

const TABLE = /^(?:# )?\[\[?([a-z_.]+)\]\]?(?:\s+# (.+))?$/
const SETTING = /^# ([a-z_]+) = .+?\s+# (.+)$/
const CONTINUED = /^\s+# (.+)$/

/** By `table.setting`: what stands behind it, and on lines of their own below. */
function wordsByPath(text: string): Map<string, string> {
  const words = new Map<string, string>()
  let table = ''
  let path = ''
  for (const line of text.split('\n')) {
    const [, name, about] = TABLE.exec(line) ?? []
    const [, setting, meaning] = SETTING.exec(line) ?? []
    const [, more] = CONTINUED.exec(line) ?? []
    if (name !== undefined) table = name
    if (setting !== undefined || name !== undefined)
      path = setting === undefined ? table : `${table}.${setting}`
    const comment = about ?? meaning ?? (more === undefined ? undefined : `${words.get(path)} ${more}`)
    if (comment !== undefined) words.set(path, comment)
  }
  return words
}
