import { safeText } from '../../domain/safe-text.ts'
import { isInteractive, type Terminal } from './terminal.ts'

/** Only on a terminal. */
type Progress = { settle: (name: string, outcome: string) => void; stop: () => void }

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
const CLEAR_LINE = '\u001b[2K\r'
const LINE_UP = '\u001b[1A'

export function startProgress(terminal: Terminal, names: readonly string[]): Progress {
  if (!isInteractive(terminal, terminal.stderr)) return { settle: () => {}, stop: () => {} }
  const { stderr } = terminal
  const outcomes = new Map<string, string>()
  let frame = 0
  let drawn = 0
  const erase = (): void => void stderr.write(`${CLEAR_LINE}${`${LINE_UP}${CLEAR_LINE}`.repeat(drawn)}`)
  const draw = (): void => {
    erase()
    const spinner = FRAMES[frame++ % FRAMES.length]
    const width = (stderr.columns || 80) - 1
    for (const name of names) {
      const outcome = outcomes.get(name)
      const line = outcome === undefined ? `${spinner} ${name}` : `${outcome} ${name}`
      stderr.write(`${safeText(line).slice(0, width)}\n`)
    }
    drawn = names.length
  }
  draw()
  const timer = setInterval(draw, FRAME_MS)
  return {
    settle: (name, outcome) => void outcomes.set(name, outcome),
    stop: () => {
      clearInterval(timer)
      erase()
    },
  }
}
