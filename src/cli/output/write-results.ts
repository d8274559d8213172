import { safeText } from '../../domain/safe-text.ts'
import { isJsonObject, type JsonObject } from '../../json/value.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfStatus } from '../exit-codes.ts'
import { describeViolation } from '../registries/registry-client.ts'
import type { WriteResult } from '../registries/registry-writer.ts'
import { printData, printStatus, type Terminal } from './terminal.ts'

export async function printWriteResults(
  terminal: Terminal,
  results: readonly WriteResult[],
  { verb, json }: { verb: string; json: boolean | undefined },
): Promise<ExitCode> {
  await printData(terminal, json, results, () => results.map((result) => line(result, verb)).join(''))
  for (const { registry, listing_id, error } of results)
    if (error !== undefined) printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${error}`)
  for (const { registry, listing_id, answer } of results)
    for (const warning of warningsOf(answer))
      printStatus(terminal, `[registry] ${registry}: ${listing_id}: accepted, but ${warning}`)
  return combineExitCodes(results.map(exitCodeOf), EXIT.failure)
}

function warningsOf(answer: JsonObject | undefined): string[] {
  const warnings = answer?.warnings
  return Array.isArray(warnings) ? warnings.filter(isJsonObject).map(describeViolation) : []
}

const line = ({ registry, listing_id, outcome, error }: WriteResult, verb: string): string =>
  safeText(`${registry}  ${listing_id}  ${outcome === 'accepted' ? verb : `failed: ${error}`}`).concat('\n')

const exitCodeOf = ({ status }: WriteResult): ExitCode =>
  status === null ? EXIT.noAnswer : exitCodeOfStatus(status)
