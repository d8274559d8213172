import { updateWrite } from '../../client/signed-write.ts'
import { safeText } from '../../domain/safe-text.ts'
import { addSigning, type CommandDefinition, count, FORCE_OPTION, LISTING_FILE } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode } from '../exit-codes.ts'
import { hiddenIn, readListingFile } from '../listing-file.ts'
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
import { type Registry, selectRegistries } from '../registries/select-registries.ts'
import { openWallet } from '../signing/wallet.ts'
import { type ClosingOptions, confirmClosing } from '../writes/confirm-closing.ts'
import { readOwnListings } from '../writes/own-listings.ts'
import { type Publishing, publishListings, requireValid } from '../writes/publish-listings.ts'
import { runWrites, type WriteOptions } from '../writes/run-writes.ts'
import { planSync, type SyncPlan } from '../writes/sync-plan.ts'
import type { Write, WriteResult } from '../writes/write-result.ts'

type SyncOptions = WriteOptions & ClosingOptions & { dryRun?: boolean; force?: boolean }

export const syncCommand: CommandDefinition<SyncOptions> = {
  summary: 'publish the changed listings of a file, and close your listings that are not in it',
  define: (command) =>
    addSigning(command)
      .argument(...LISTING_FILE)
      .option('--dry-run', 'only print what would be written')
      .option('--yes', 'do not ask before more than a tenth of the open listings is closed')
      .option('--max-close <n>', 'close up to so many at each Registry without asking', count(0))
      .option(...FORCE_OPTION),
  example: 'entrepot sync listings.yaml --key-file seller.key -r https://open.example --dry-run',
  async run({ terminal, openClient }, options, [file = '']) {
    const { registries, discoveryTimeoutMs, tokens } = selectRegistries(terminal, options, 'write')
    const drafts = await readListingFile(terminal, file)
    const prices = printBuyersReading(terminal, drafts, tokens)
    const wallet = await openWallet(terminal, { ...options, isStdinTaken: file === '-' })
    const client = await openClient()
    const reads = await Promise.all(
      registries.map(async (registry) => ({
        registry,
        answer: await readOwnListings(terminal, client, registry, wallet.address),
      })),
    )
    const targets = reads.flatMap(({ registry, answer }) => {
      // A listing that was not read would be published again, and none must be closed by mistake.
      if (!answer.isComplete) return []
      const local = answer.listings.filter(({ isLocal }) => isLocal)
      return [targetOf(terminal, registry, planSync(drafts, local))]
    })
    const missing = reads.filter(({ answer }) => !answer.isComplete)
    for (const { registry } of missing)
      printWarning(
        terminal,
        `${registry.url}: nothing is written, since not all of your listings could be read`,
      )
    const failures = missing.map(({ answer }) => exitCodeOfReports(answer.reports) || EXIT.noAnswer)
    if (targets.length === 0) return combineExitCodes(failures, EXIT.noAnswer)
    if (!options.dryRun) {
      const closings = targets.map(({ registry: { url }, plan }) => ({
        url,
        close: plan.close.length,
        open: plan.open,
      }))
      await confirmClosing(terminal, closings, { ...options, isStdinTaken: file === '-' })
    }
    if (!options.force) await requireValid(terminal, client, targets, discoveryTimeoutMs)
    const code = options.dryRun
      ? await printPlans(terminal, targets, options)
      : await runWrites({
          terminal,
          client,
          options,
          signer: wallet.address,
          targets,
          prices,
          hidden: hiddenIn(drafts),
          write: (writer, target, signal) => writeTarget(target, { writer, wallet, signal }),
        })
    if (missing.length === 0 || code === EXIT.interrupted) return code
    return combineExitCodes([...failures, code], EXIT.partial)
  },
}

const NOT_CLOSED = 'nothing is closed, since another write failed'

function targetOf(terminal: Terminal, registry: Registry, plan: SyncPlan) {
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
    registry,
    plan,
    due: publish.map(({ draft }) => draft),
    total: publish.length + clearOracle.length + close.length,
  }
}

type Target = ReturnType<typeof targetOf>

async function writeTarget({ due, plan }: Target, publishing: Publishing): Promise<WriteResult[]> {
  const { writer, wallet } = publishing
  const results = await publishListings(due, publishing)
  for (const id of plan.clearOracle)
    results.push(
      await writer.write({ ...updateWrite(wallet, id, { oracle_address: null }), action: 'update' }),
    )
  // What is closed may be replaced by what is published.
  const mayClose = results.every(({ outcome }) => outcome === 'accepted')
  for (const id of plan.close) {
    const close: Write = { ...updateWrite(wallet, id, { status: 'closed' }), action: 'close' }
    results.push(mayClose ? await writer.write(close) : writer.skip(close, NOT_CLOSED))
  }
  return results
}

async function printPlans(
  terminal: Terminal,
  targets: readonly Target[],
  { json, ndjson }: SyncOptions,
): Promise<ExitCode> {
  const rows = targets.flatMap(rowsOf)
  if (ndjson)
    await print(terminal, rows.map((row) => `${escapeForTerminal(terminal, JSON.stringify(row))}\n`).join(''))
  else await printData(terminal, json, rows, () => rows.map(lineOf).join(''))
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
