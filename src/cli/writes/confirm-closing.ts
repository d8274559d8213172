import { safeText } from '../../domain/safe-text.ts'
import { usageError } from '../exit-codes.ts'
import { forLocale, type Terminal } from '../output/terminal.ts'
import { readTypedLine } from '../output/typed-line.ts'

/** What a command would close at one Registry. */
type Closing = { url: string; close: number; open: number }

export type ClosingOptions = {
  yes?: boolean
  /** So many are closed at each Registry without a question. */
  maxClose?: number
}

const LARGE_SHARE = 0.1

/**
 * Asks on a terminal before more than `few` and more than a tenth of the open listings of a Registry are closed, since a file
 * that was cut looks like one that names fewer. @throws CliError where the answer is no, and in a pipe
 */
export async function confirmClosing(
  terminal: Terminal,
  closings: readonly Closing[],
  { yes = false, maxClose, few, isStdinTaken }: ClosingOptions & { few: number; isStdinTaken: boolean },
): Promise<void> {
  const isTooMany = ({ close, open }: Closing): boolean =>
    maxClose === undefined ? close > few && close > open * LARGE_SHARE : close > maxClose
  const large = yes ? [] : closings.filter(isTooMany)
  if (large.length === 0) return
  const words = large
    .map(({ url, close, open }) => `${close} of your ${open} open listings at ${url}`)
    .join(' and ')
  const { stdin, stderr } = terminal
  if (!stdin.isTTY || isStdinTaken) {
    const most = Math.max(...large.map(({ close }) => close))
    throw usageError(
      `this would close ${words}; nothing is written: see --dry-run, then add --yes, or --max-close ${most}`,
    )
  }
  const refusal = usageError('nothing is written')
  const question = forLocale(terminal, safeText(`Close ${words}? [y/N] `))
  const answer = await readTypedLine({ input: stdin, output: stderr, question }, refusal)
  if (!/^y(es)?$/i.test(answer.trim())) throw refusal
}
