import { updateWrite } from '../../client/signed-write.ts'
import { safeText } from '../../domain/safe-text.ts'
import type { CommandContext } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode } from '../exit-codes.ts'
import { type DraftListing, hiddenIn } from '../listing-file.ts'
import { printBuyersReading } from '../output/buyers-reading.ts'
import { exitCodeOfReports } from '../output/source-reports.ts'
import {
  escapeForTerminal,
  print,
  printData,
  printReport,
  printWarning,
  type Terminal,
} from '../output/terminal.ts'
import { factsOf } from '../registries/registry-facts.ts'
import type { SelectedRegistries } from '../registries/select-registries.ts'
import { openSellers, type Seller } from '../signing/seller-keys.ts'
import { requireGood } from './check-drafts.ts'
import { type ClosingOptions, confirmClosing } from './confirm-closing.ts'
import { draftsFor } from './line-drafts.ts'
import { readOwnListings } from './own-listings.ts'
import { closeListings, type Publishing, publishListings } from './publish-listings.ts'
import { runWrites, type WriteOptions } from './run-writes.ts'
import { planSync, type SyncPlan } from './sync-plan.ts'
import type { WriteResult } from './write-result.ts'

export type SyncOptions = WriteOptions & ClosingOptions & { dryRun?: boolean; asIs?: boolean }

type Sync = {
  selected: SelectedRegistries
  /** The listings that are to be open, or as their status says. */
  drafts: readonly DraftListing[]
  isStdinTaken: boolean
  /** So many are closed without a question. */
  few: number
}

/** Makes the wallet's open listings those of the drafts, at every selected Registry whose listings could be read in full. */
export async function syncListings(
  { terminal, openClient }: CommandContext,
  options: SyncOptions,
  { selected: { registries, tokens, discoveryTimeoutMs }, drafts, isStdinTaken, few }: Sync,
): Promise<ExitCode> {
  const sellers = await openSellers(terminal, registries, { ...options, isStdinTaken })
  const client = await openClient()
  const asIs = options.asIs === true || drafts.length === 0
  const asked = sellers.map(({ registry }) => registry)
  const facts = await factsOf(client, asked, tokens, discoveryTimeoutMs, { asIs })
  printBuyersReading(terminal, drafts, facts)
  const reads = await Promise.all(
    sellers.map(async (seller) => ({
      seller,
      answer: await readOwnListings(terminal, client, seller.registry, seller.publisher),
    })),
  )
  const targets = reads.flatMap(({ seller, answer }) => {
    // A listing that was not read would be published again, and none must be closed by mistake.
    if (!answer.isComplete) return []
    const local = answer.listings.filter(({ isLocal }) => isLocal)
    const plan = planSync(draftsFor(terminal, seller.registry, drafts), local)
    return [{ ...targetOf(terminal, seller, plan), facts: facts[sellers.indexOf(seller)]! }]
  })
  const missing = reads.filter(({ answer }) => !answer.isComplete)
  for (const { seller } of missing)
    printWarning(
      terminal,
      `${seller.registry.url}: nothing is written, since not all of your listings could be read`,
    )
  const failures = missing.map(({ answer }) => exitCodeOfReports(answer.reports) || EXIT.noAnswer)
  if (targets.length === 0) return combineExitCodes(failures, EXIT.noAnswer)
  if (!options.dryRun) {
    const closings = targets.map(({ registry: { url }, plan }) => ({
      url,
      close: plan.close.length,
      open: plan.open,
    }))
    await confirmClosing(terminal, closings, { ...options, few, isStdinTaken })
  }
  requireGood(terminal, targets, options.asIs)
  const code = options.dryRun
    ? await printPlans(terminal, targets, options)
    : await runWrites({
        terminal,
        client,
        options,
        targets,
        hidden: hiddenIn(drafts),
        write: (writer, target, signal) => writeTarget(target, { writer, account: target.account, signal }),
      })
  if (missing.length === 0 || code === EXIT.interrupted) return code
  return combineExitCodes([...failures, code], EXIT.partial)
}

const NOT_CLOSED = 'nothing is closed, since another write failed'

function targetOf(terminal: Terminal, seller: Seller, plan: SyncPlan) {
  const { registry } = seller
  const { publish, clearOracle, close, unchanged, keepsDuration } = plan
  printReport(
    terminal,
    `[registry] ${registry.url}: ${publish.length} to publish, ${close.length} to close, ${unchanged} unchanged`,
  )
  for (const id of keepsDuration)
    printWarning(
      terminal,
      `${registry.url}: ${id} keeps its max_duration_seconds, which no write can clear: delete and publish it`,
    )
  return {
    ...seller,
    plan,
    due: publish.map(({ draft }) => draft),
    total: publish.length + clearOracle.length + close.length,
  }
}

type Target = ReturnType<typeof targetOf>

async function writeTarget({ due, plan }: Target, publishing: Publishing): Promise<WriteResult[]> {
  const { writer, account } = publishing
  const results = await publishListings(due, publishing)
  for (const id of plan.clearOracle)
    results.push(
      await writer.write({ ...updateWrite(account, id, { oracle_address: null }), action: 'update' }),
    )
  // What is closed may be replaced by what is published.
  const mayClose = results.every(({ outcome }) => outcome === 'accepted')
  return [...results, ...(await closeListings(plan.close, publishing, mayClose ? null : NOT_CLOSED))]
}

async function printPlans(
  terminal: Terminal,
  targets: readonly Target[],
  { json, ndjson }: SyncOptions,
): Promise<ExitCode> {
  const rows = targets.flatMap(rowsOf)
  if (ndjson)
    await print(terminal, rows.map((row) => `${escapeForTerminal(terminal, JSON.stringify(row))}\n`).join(''))
  else await printData(terminal, { json }, rows, () => rows.map(lineOf).join(''))
  return EXIT.ok
}

const rowsOf = ({ registry: { url: registry }, plan }: Target) => [
  ...plan.publish.map(({ draft, changed }) => ({
    registry,
    listing_id: draft.listingId,
    action: 'publish',
    changed,
  })),
  ...plan.clearOracle.map((id) => ({
    registry,
    listing_id: id,
    action: 'update',
    changed: ['oracle_address'],
  })),
  ...plan.close.map((id) => ({ registry, listing_id: id, action: 'close', changed: ['status'] })),
]

function lineOf({ registry, listing_id, action, changed }: ReturnType<typeof rowsOf>[number]): string {
  const what = changed.length === 0 ? 'new' : changed.join(', ')
  return `${safeText(`${registry}  ${listing_id}  would ${action} (${what})`)}\n`
}
