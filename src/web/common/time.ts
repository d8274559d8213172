import { useEffect, useState } from 'preact/hooks'
import { timeAgo } from '../../domain/timestamp.ts'
import { html } from '../html.ts'

const TICK_MS = 10_000

/** Milliseconds since the Unix epoch, every 10 s while the page is visible. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const tick = (): void => {
      if (!document.hidden) setNow(Date.now())
    }
    const timer = setInterval(tick, TICK_MS)
    document.addEventListener('visibilitychange', tick)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', tick)
    }
  }, [])
  return now
}

type TimeAgoProps = {
  /** Milliseconds since the Unix epoch; `null` where unknown. */
  at: number | null
  /** The browser's clock by default. */
  now?: number
  /** `3 min`, where the heading says that it is past. */
  isShort?: boolean
}

/** `3 min ago`, with the exact time as its title. */
export function TimeAgo({ at, now, isShort = false }: TimeAgoProps) {
  useNow()
  if (at === null) return html`<span>unknown</span>`
  const iso = new Date(at).toISOString()
  const title = `${new Date(at).toLocaleString('en', EXACT)} (${iso.slice(0, 19).replace('T', ' ')} UTC)`
  const words = timeAgo(at, now ?? Date.now())
  return html`<time datetime=${iso} title=${title}>${isShort ? words.replace(/^just | ago$/, '') : words}</time>`
}

/** `15:04:05`, local. @param at ISO 8601 */
export const ClockTime = ({ at }: { at: string }) =>
  html`<time datetime=${at} title=${at}>${clockTime(new Date(at))}</time>`

export const clockTime = (at: Date): string => at.toLocaleTimeString([], { hourCycle: 'h23' })

const EXACT = { dateStyle: 'medium', timeStyle: 'medium', hour12: false } as const
