const HEADER = /^\s*(\[\[?)\s*([^\]]+?)\s*\]/
const KEY = /^\s*(?:"([^"]*)"|([\w-]+))\s*([=.])/

/**
 * Line of a dotted path such as `upstreams[1].url` in a TOML text, from 1: of its key, or else of its table.
 * A path inside a list or an inline table has the line of the key that holds it. `null` without any.
 */
export function lineOf(text: string, path: string): number | null {
  const target = path.replace(/\[(\d+)\]/g, '.$1')
  const entries = new Map<string, number>()
  let table = ''
  let holderLine: number | null = null
  for (const [n, line] of text.split('\n').entries()) {
    const [, brackets, name = ''] = HEADER.exec(line) ?? []
    if (brackets === '[[') {
      const index = entries.get(name) ?? 0
      entries.set(name, index + 1)
      table = `${name}.${index}`
    } else if (brackets === '[') table = name
    const [, quoted, bare, sign] = brackets === undefined ? (KEY.exec(line) ?? []) : []
    const key = quoted ?? bare
    const here = key === undefined ? table : table === '' ? key : `${table}.${key}`
    if (here === target && (key !== undefined || brackets !== undefined)) return n + 1
    if (sign === '=' && target.startsWith(`${here}.`)) holderLine = n + 1
    if (brackets !== undefined && target.startsWith(`${table}.`)) holderLine ??= n + 1
    if (brackets !== undefined && table.startsWith(`${target}.`)) holderLine ??= n + 1
  }
  return holderLine
}
