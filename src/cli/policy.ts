import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { sameJson } from '../domain/json.ts'
import { textAt } from '../domain/json-at.ts'
import type { MergedItem } from '../gateway/merged-item.ts'
import { BUILT_IN_POLICIES, type PolicyName } from './built-in-policies.ts'
import { CliError, EXIT, usageError } from './exit.ts'
import type { RunPolicy } from './policy-runner.ts'
import { type Row, readRow, toRow } from './row.ts'
import type { Terminal } from './terminal.ts'

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

/** @throws CliError for a policy that fails, is late or returns no array */
export async function applyPolicy(
  terminal: Terminal,
  items: readonly MergedItem[],
  { policy, policyCmd, policyTimeout = DEFAULT_POLICY_SECONDS }: PolicyOptions,
): Promise<Row[]> {
  let rows = items.map(toRow)
  const limits = { timeoutMs: policyTimeout * 1000, maxBytes: MAX_POLICY_BYTES }
  const run = async (runner: RunPolicy, name: string): Promise<Row[]> =>
    restore(await runner(`[${rows.join()}]`, limits, terminal), rows, name)
  if (policy !== undefined && isBuiltIn(policy)) rows = BUILT_IN_POLICIES[policy](rows)
  else if (policy !== undefined) {
    const { runModule } = await import('./policy-module.ts')
    rows = await run(runModule(resolvePolicy(policy)), policy)
  }
  if (policyCmd !== undefined) {
    const { runCommand } = await import('./policy-command.ts')
    rows = await run(runCommand(policyCmd), policyCmd)
  }
  return rows
}

const isBuiltIn = (name: string): name is PolicyName => Object.hasOwn(BUILT_IN_POLICIES, name)

function resolvePolicy(file: string): string {
  const path = resolve(file)
  if (existsSync(path)) return path
  const names = Object.keys(BUILT_IN_POLICIES).join(', ')
  throw usageError(`--policy ${file}: no such file, and no built-in policy (${names})`)
}

/** Unchanged rows stay the same to the byte: JSON libraries rewrite numbers. */
function restore(output: string, rows: readonly Row[], name: string): Row[] {
  const returned = parseArray(output, name)
  const originals = new Map(rows.map((row) => [identity(row), row]))
  return returned.map((value) => {
    const row = JSON.stringify(value)
    const original = originals.get(identity(row))
    return original !== undefined && sameJson(JSON.parse(original), JSON.parse(row)) ? original : row
  })
}

function identity(row: Row): string {
  const listing = readRow(row)
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
