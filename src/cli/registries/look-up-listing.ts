import { EntrepotError } from '../../errors.ts'
import { idsBeginning } from '../../gateway/pages/ids-beginning.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import { readQuestion } from '../../gateway/read-question.ts'
import { textAt } from '../../json/value.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import { MAX_SELLER_DEPTH, type SellerOffers } from '../../wire/describe-seller.ts'
import type { CommandContext } from '../command.ts'
import { EXIT, type ExitCode, usageError } from '../exit-codes.ts'
import { exitCodeOfReports, printSourceReports } from '../output/source-reports.ts'
import { printReport, printStatus, printWarning, type Terminal } from '../output/terminal.ts'
import { COMMAND, openBuyerMarket, settle } from './buyer-market.ts'
import type { RegistryClient } from './registry-client.ts'
import type { Registry, SelectedRegistries } from './select-registries.ts'

type ListingLookup = { item: MergedItem; registry: Registry }

/**
 * Finds a listing by its id or the unique beginning of it, and prints how the Registries answered. Without a
 * listing, `exitCode` is not 0.
 * @throws CliError where several ids begin so
 */
export async function lookUpListing(
  { terminal, openClient }: CommandContext,
  selected: SelectedRegistries,
  text: string,
): Promise<{ client: RegistryClient; lookup: ListingLookup | null; exitCode: ExitCode }> {
  const client = await openClient()
  const { registries, discoveryTimeoutMs: ms } = selected
  const market = openBuyerMarket(client, selected, { deadlines: { registryMs: ms, overallMs: ms } })
  const find = (listingId: string) => settle(market.find(listingId, null, COMMAND))
  const exact = await find(text)
  const id = exact.answer?.merged ? null : await completeId(terminal, client, selected, text)
  const { answer, reports } = id === null ? exact : await find(id)
  const exitCode = exitCodeOfReports(reports)
  if (answer?.merged) {
    const { merged: item, complete } = answer
    printSourceReports(terminal, reports)
    for (const warning of warningsOf(item, complete)) printWarning(terminal, warning)
    printAge(terminal, item)
    const registry = registries.find(({ url }) => url === item.registry)!
    return { client, lookup: { item, registry }, exitCode }
  }
  printSourceReports(
    terminal,
    reports.filter(({ state }) => !hasAnswered(state)),
  )
  if (exitCode !== EXIT.ok) return { client, lookup: null, exitCode }
  const where = reports.length === 1 ? 'that Registry' : `any of ${reports.length} Registries`
  printStatus(terminal, `entrepot: listing '${text}' is not in ${where}`)
  return { client, lookup: null, exitCode: EXIT.failure }
}

/** What is open of a publisher; `null` where it is not known, or no Registry answered. */
export async function sellerOffers(
  client: RegistryClient,
  selected: SelectedRegistries,
  publisher: string | null,
): Promise<SellerOffers | null> {
  if (publisher === null) return null
  const { discoveryTimeoutMs: ms, tokens } = selected
  const market = openBuyerMarket(client, selected, { deadlines: { registryMs: ms, overallMs: ms } })
  const query = { ...readQuestion({}, { filters: [], tokens }), publisher }
  const askAt = (offset: number) =>
    settle(market.page({ ...query, limit: 1, offset, suggests: false }, COMMAND))
  const { answer } = await askAt(0)
  if (answer === null) return null
  const { total, complete, sources } = answer
  const [last] = total > MAX_SELLER_DEPTH ? [] : ((await askAt(Math.max(0, total - 1))).answer?.items ?? [])
  const oldest = last === undefined ? null : textAt(documentOf(last.item.bytes), 'created_at')
  return { total, complete, sources, oldest }
}

const SEARCH_MS = 10_000

async function completeId(
  terminal: Terminal,
  client: RegistryClient,
  selected: SelectedRegistries,
  text: string,
): Promise<string | null> {
  const beginning = withoutEllipsis(text)
  const deadlines = { registryMs: SEARCH_MS, overallMs: SEARCH_MS }
  const market = openBuyerMarket(client, selected, { deadlines })
  const ids = await idsBeginning(market, beginning, COMMAND).catch(ignoreNoAnswer)
  return onlyMatch(terminal, beginning, ids)
}

/** The lookup of the whole text has reported why. */
function ignoreNoAnswer(cause: unknown): readonly string[] {
  if (cause instanceof EntrepotError) return []
  throw cause
}

const MAX_SHOWN = 5

/** @throws CliError for several ids */
export function onlyMatch(terminal: Terminal, beginning: string, ids: readonly string[]): string | null {
  const matches = [...new Set(ids)]
  const [match] = matches
  if (match === undefined) return null
  if (matches.length > 1) {
    const someIds = matches.slice(0, MAX_SHOWN).join(', ') + (matches.length > MAX_SHOWN ? ', …' : '')
    throw usageError(`${matches.length} ids begin with '${beginning}': ${someIds}`)
  }
  printReport(terminal, `[listing] ${beginning} is ${match}`)
  return match
}

/** Tables end an id with it that they cut. */
export const withoutEllipsis = (text: string): string => text.replace(/[…~]$/, '')

function warningsOf({ unchecked, notIn, disputed }: MergedItem, complete: boolean): string[] {
  return [
    ...(complete ? [] : ['a Registry that may have a better copy of this listing did not answer.']),
    ...unchecked.map((name) => `${name} could not be asked, and may have other terms, or have it closed.`),
    ...notIn.map((name) => `${name} has this publisher without this listing: ask the seller before you pay.`),
    ...disputed.map(
      (name) => `${name} has this publisher at another storefront. Check the storefront before you pay.`,
    ),
  ]
}

function printAge(terminal: Terminal, { registry, ageSeconds }: MergedItem): void {
  if (ageSeconds) printReport(terminal, `[listing] this copy of ${registry} is ${ageSeconds} s old`)
}
