import { safeText } from '../../domain/safe-text.ts'
import { forLocale, isInteractive, isUtf8Locale, type Terminal } from './terminal.ts'

/** The lines of progress, which appear on a terminal only. */
export type Progress = {
  note: (name: string, text: string) => void
  /** Erases the lines before other output. They are drawn again below it. */
  pause: () => void
  stop: () => void
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const ASCII_FRAMES = ['-', '\\', '|', '/']
const FRAME_MS = 80
const CLEAR_LINE = '\u001b[2K\r'
const LINE_UP = '\u001b[1A'

export function startProgress(terminal: Terminal, names: readonly string[]): Progress {
  if (!isInteractive(terminal, terminal.stderr) || terminal.isQuiet) return NO_PROGRESS
  const { stderr } = terminal
  const frames = isUtf8Locale(terminal) ? FRAMES : ASCII_FRAMES
  const notes = new Map<string, string>()
  // Lines above the screen could not be erased.
  const visibleNames = names.slice(0, (stderr.rows || 24) - 1)
  let frame = 0
  let drawn = 0
  const erase = (): void => {
    stderr.write(`${CLEAR_LINE}${`${LINE_UP}${CLEAR_LINE}`.repeat(drawn)}`)
    drawn = 0
  }
  const draw = (): void => {
    erase()
    const spinner = frames[frame++ % frames.length]
    const width = (stderr.columns || 80) - 1
    for (const name of visibleNames) {
      const line = [spinner, name, notes.get(name) ?? ''].join(' ')
      stderr.write(`${forLocale(terminal, safeText(line)).slice(0, width)}\n`)
    }
    drawn = visibleNames.length
  }
  draw()
  const timer = setInterval(draw, FRAME_MS)
  return {
    note: (name, text) => void notes.set(name, text),
    pause: erase,
    stop: () => {
      clearInterval(timer)
      erase()
    },
  }
}

const NO_PROGRESS: Progress = { note: () => {}, pause: () => {}, stop: () => {} }
