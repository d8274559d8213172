import { readFileSync } from 'node:fs'

/** The text of `docs/operations.md`, whose blocks the tests run. */
export const PAGE = readFileSync('docs/operations.md', 'utf8')

/** The fenced block with this mark, such as `run=redis-backup`, `file=public.toml` or `env=public.env`. */
export function blockOf(mark: string): string {
  const blocks = [...PAGE.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)]
  const found = blocks.find(([, marked]) => marked === mark)?.[2]
  if (found === undefined) throw new Error(`docs/operations.md has no block ${mark}`)
  return found
}

/** The files that blocks hold, by name. */
export const filesIn = (): Map<string, string> =>
  new Map([...PAGE.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name, text]) => [name!, text!]))

/** The settings of a block `env=NAME`. */
export const settingsOf = (name: string): Record<string, string> =>
  Object.fromEntries(
    blockOf(`env=${name}`)
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  )

/** The first cells of the table with this head. */
export function rowsOf(head: string): string[] {
  const start = PAGE.indexOf(`| ${head} |`)
  if (start < 0) throw new Error(`docs/operations.md has no table ${head}`)
  const table = PAGE.slice(start, PAGE.indexOf('\n\n', start))
  return table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|')[1]!.trim())
}
