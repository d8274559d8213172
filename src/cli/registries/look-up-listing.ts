import { hasAnswered } from '../../wire/describe-missing.ts'
import type { CommandContext } from '../command.ts'
import { EXIT, type ExitCode, usageError } from '../exit-codes.ts'
import { exitCodeOfReports, printSourceReports } from '../output/source-reports.ts'
import { printReport, printStatus, printWarning, type Terminal } from '../output/terminal.ts'
import { type FoundInRegistry, findInRegistries, NEWEST_FIRST, queryRegistries } from './query-registries.ts'
import type { RegistryClient } from './registry-client.ts'
import type { Registry, SelectedRegistries } from './select-registries.ts'

/**
 * Finds a listing by its id or the unique beginning of it, and prints how the Registries answered. Without a
 * listing, `exitCode` is not 0.
 * @throws CliError where several ids begin so
 */
export async function lookUpListing(
  { terminal, openClient }: CommandContext,
  { registries, discoveryTimeoutMs: timeoutMs }: SelectedRegistries,
  text: string,
): Promise<{ client: RegistryClient; found: FoundInRegistry | null; exitCode: ExitCode }> {
  const client = await openClient()
  const exact = await findInRegistries(client, registries, text, timeoutMs)
  const id = exact.answer === null ? await completeId(terminal, client, registries, text) : null
  const lookup = id === null ? exact : await findInRegistries(client, registries, id, timeoutMs)
  const { answer, reports, failures } = lookup
  const exitCode = exitCodeOfReports(reports)
  const isFound = answer !== null
  printSourceReports(
    terminal,
    isFound ? reports : reports.filter(({ state }) => !hasAnswered(state)),
    failures,
  )
  if (isFound) {
    for (const warning of warningsOf(answer)) printWarning(terminal, warning)
    return { client, found: answer, exitCode }
  }
  if (exitCode !== EXIT.ok) return { client, found: null, exitCode }
  const where = reports.length === 1 ? 'that Registry' : `any of ${reports.length} Registries`
  printStatus(terminal, `entrepot: listing '${text}' is not in ${where}`)
  return { client, found: null, exitCode: EXIT.failure }
}

/** Characters. */
const MIN_BEGINNING = 8
/** The newest of all Registries, of any status. */
const MAX_SEARCHED = 2000
const SEARCH_MS = 10_000

async function completeId(
  terminal: Terminal,
  client: RegistryClient,
  registries: readonly Registry[],
  text: string,
): Promise<string | null> {
  const beginning = withoutEllipsis(text)
  if (beginning.length < MIN_BEGINNING) return null
  const query = {
    status: null,
    publisher: null,
    filters: [],
    limit: MAX_SEARCHED,
    offset: 0,
    ...NEWEST_FIRST,
  }
  const deadlines = { registryMs: SEARCH_MS, overallMs: SEARCH_MS }
  const { answer } = await queryRegistries(client, registries, query, deadlines)
  const ids = answer?.items.map(({ item }) => item.listingId) ?? []
  return onlyMatch(
    terminal,
    beginning,
    ids.filter((id) => id.startsWith(beginning)),
  )
}

const MAX_SHOWN = 5

/** @throws CliError for several ids */
export function onlyMatch(terminal: Terminal, beginning: string, ids: readonly string[]): string | null {
  const matches = [...new Set(ids)]
  const [match] = matches
  if (match === undefined) return null
  if (matches.length > 1) {
    const shown = matches.slice(0, MAX_SHOWN).join(', ') + (matches.length > MAX_SHOWN ? ', …' : '')
    throw usageError(`${matches.length} ids begin with '${beginning}': ${shown}`)
  }
  printReport(terminal, `[listing] ${beginning} is ${match}`)
  return match
}

/** Tables end an id with it that they cut. */
export const withoutEllipsis = (text: string): string => text.replace(/[…~]$/, '')

const warningsOf = ({ complete, disputed }: FoundInRegistry): string[] => [
  ...(complete ? [] : ['a Registry that may have a better copy of this listing did not answer.']),
  ...disputed.map(
    (name) => `${name} has this publisher at another storefront. Check the storefront before you pay.`,
  ),
]
