import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Sort } from '../../domain/price/price-parameters.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { parseObject, sameJson, textAt } from '../../json/value.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import type { RunPolicy } from './external-policy.ts'

export type PolicyOptions = {
  /** A built-in's name, or a module whose default export takes the array and returns one. */
  policy?: string
  /** Any program: JSON array on stdin, JSON array on stdout. */
  policyCmd?: string
  /** Seconds. */
  policyTimeout?: number
}

const DEFAULT_POLICY_SECONDS = 10
const MAX_POLICY_BYTES = 64 * 1024 * 1024

/** Orders that the query has itself, over all that matches. */
const SORT_OF: ReadonlyMap<string, Sort> = new Map([
  ['cheapest', 'price'],
  ['newest', 'newest'],
])
/** Newest first within a Registry. */
const REGISTRY_ORDER = 'registry-order'

export const POLICY_NAMES = [...SORT_OF.keys(), REGISTRY_ORDER]

export const policySort = ({ policy = '' }: PolicyOptions): Sort | undefined => SORT_OF.get(policy)

/** Whether listings beyond those of the query would change the result. */
export const wantsEverything = ({ policy, policyCmd }: PolicyOptions): boolean =>
  policyCmd !== undefined || (policy !== undefined && !SORT_OF.has(policy))

/** @throws CliError for a policy that fails, is late or returns no array */
export async function applyPolicy(
  terminal: Terminal,
  items: readonly MergedItem[],
  { policy, policyCmd, policyTimeout = DEFAULT_POLICY_SECONDS }: PolicyOptions,
): Promise<string[]> {
  let rows = items.map((item) => renderItem(item).toString())
  const limits = { timeoutMs: policyTimeout * 1000, maxBytes: MAX_POLICY_BYTES }
  const run = async (runner: RunPolicy, name: string): Promise<string[]> =>
    restore(await runner(`[${rows.join()}]`, limits, terminal), rows, name)
  if (policy === REGISTRY_ORDER) rows = [...Map.groupBy(rows, registryOf).values()].flat()
  else if (policy !== undefined && !SORT_OF.has(policy)) {
    const { runPolicyModule } = await import('./external-policy.ts')
    rows = await run(runPolicyModule(resolvePolicy(policy)), policy)
  }
  if (policyCmd === undefined) return rows
  const { runPolicyCommand } = await import('./external-policy.ts')
  return run(runPolicyCommand(policyCmd), policyCmd)
}

const registryOf = (row: string): string | null => textAt(parseObject(row), '_meta', 'registry')

function resolvePolicy(file: string): string {
  const path = resolve(file)
  if (existsSync(path)) return path
  throw usageError(`--policy ${file}: neither a file nor a built-in policy (${POLICY_NAMES.join(', ')})`)
}

/** Unchanged rows stay the same to the byte: JSON libraries rewrite numbers. */
function restore(output: string, rows: readonly string[], name: string): string[] {
  const returned = parseArray(output, name)
  const originals = new Map(rows.map((row) => [identity(row), row]))
  return returned.map((value) => {
    const row = JSON.stringify(value)
    const original = originals.get(identity(row))
    return original !== undefined && sameJson(JSON.parse(original), JSON.parse(row)) ? original : row
  })
}

function identity(row: string): string {
  const listing = parseObject(row)
  return `${textAt(listing, 'listing_id')}\n${textAt(listing, '_meta', 'registry')}\n${textAt(listing, '_meta', 'publisher')}`
}

function parseArray(output: string, name: string): unknown[] {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    throw new CliError(EXIT.failure, `policy ${name} did not return JSON`)
  }
  if (!Array.isArray(value)) throw new CliError(EXIT.failure, `policy ${name} did not return an array`)
  return value
}
