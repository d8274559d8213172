import { safeText } from '../../domain/safe-text.ts'
import { bold, isInteractive, printData, type Terminal } from './terminal.ts'

/** What one check found. */
export type Finding = { subject: string; state: 'ok' | 'warning' | 'wrong'; finding: string }

export async function printFindings(
  terminal: Terminal,
  json: boolean | undefined,
  findings: readonly Finding[],
): Promise<void> {
  const isStyled = isInteractive(terminal, terminal.stdout)
  await printData(terminal, json, findings, () => findings.map((one) => line(one, isStyled)).join(''))
}

const MARKS: Readonly<Record<Finding['state'], string>> = { ok: 'ok', warning: 'warning', wrong: 'WRONG' }

function line({ state, subject, finding }: Finding, isStyled: boolean): string {
  const mark = MARKS[state].padEnd(8)
  return `${isStyled && state !== 'ok' ? bold(mark) : mark}${safeText(`${subject}: ${finding}`)}\n`
}
