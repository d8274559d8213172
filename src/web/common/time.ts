import { useEffect, useState } from 'preact/hooks'
import { html } from '../html.ts'
import { timeAgo } from './relative-time.ts'

const TICK_MS = 10_000
const listeners = new Set<(now: number) => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** Milliseconds since the Unix epoch. All users of a page get the same time, every 10 s while the page is visible. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    listeners.add(setNow)
    timer ??= setInterval(tick, TICK_MS)
    if (listeners.size === 1) document.addEventListener('visibilitychange', tick)
    return () => {
      listeners.delete(setNow)
      if (listeners.size > 0) return
      clearInterval(timer)
      timer = undefined
      document.removeEventListener('visibilitychange', tick)
    }
  }, [])
  return now
}

function tick(): void {
  if (document.hidden) return
  const now = Date.now()
  for (const listener of listeners) listener(now)
}

/** `3 min ago`, with the exact time as its title. @param at milliseconds since the Unix epoch; `null` where unknown */
export function TimeAgo({ at }: { at: number | null }) {
  useNow()
  if (at === null) return html`<span>unknown</span>`
  const iso = new Date(at).toISOString()
  const title = `${new Date(at).toLocaleString('en', EXACT)} (${iso.slice(0, 19).replace('T', ' ')} UTC)`
  return html`<time datetime=${iso} title=${title}>${timeAgo(at, Date.now())}</time>`
}

const EXACT = { dateStyle: 'medium', timeStyle: 'medium', hour12: false } as const
