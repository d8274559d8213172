import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { KeyRole, KeyScope } from '../../domain/api-key.ts'
import type { ApiKeyJson, MintedKeyJson } from '../../wire/api-key.ts'
import type { AuditEntryJson } from '../../wire/audit.ts'
import type { BlockJson } from '../../wire/block.ts'
import type { FleetJson, ReloadResultJson } from '../../wire/fleet.ts'
import type { SourceDetailsJson } from '../../wire/source.ts'
import type { VocabularyReportJson } from '../../wire/vocabulary.ts'
import { parseAnswer, request } from '../common/gateway.ts'
import { html } from '../html.ts'

export type PanelProps = {
  api: ReturnType<typeof createAdminApi>
  onError: (error: unknown) => string
}

export type MinutelyProps = PanelProps & {
  /** By the gateway's clock, in milliseconds since the Unix epoch; NaN before its first answer. */
  now: number
}

type SectionProps = {
  id: string
  title: string
  /** Of a heading that takes the focus. */
  heading?: RefObject<HTMLHeadingElement>
  children: ComponentChildren
}

export const Section = ({ id, title, heading, children }: SectionProps) =>
  html`<section id=${id} class="stack box" aria-labelledby=${`${id}-title`}>
    <h2 id=${`${id}-title`} ref=${heading} tabindex=${heading && '-1'}>${title}</h2>
    ${children}
  </section>`

export type FleetSource = FleetJson['sources'][number]

export type KeyRequest = { name: string; expires_in_days: number | null } & (
  | { scope: KeyScope; view: string | null }
  | { role: KeyRole }
)

/** Every call rejects as `request` does. */
export function createAdminApi(key: string) {
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, signal: AbortSignal, body?: object) =>
    request(path, key, { signal, method, body: body && JSON.stringify(body) })
  const sourcePath = (registry: string): string => `admin/sources/${encodeURIComponent(registry)}`
  return {
    fleet: async (signal: AbortSignal): Promise<FleetJson> =>
      parseAnswer(await send('GET', 'admin/replicas', signal)),
    /** Gives its state afterwards. */
    probe: async (registry: string, signal: AbortSignal): Promise<SourceDetailsJson> =>
      parseAnswer(await send('POST', `${sourcePath(registry)}/probe`, signal)),
    refresh: (registry: string, signal: AbortSignal) =>
      send('POST', `${sourcePath(registry)}/refresh`, signal),
    reload: async (signal: AbortSignal): Promise<ReloadResultJson> =>
      parseAnswer(await send('POST', 'admin/reload', signal)),
    vocabulary: async (signal: AbortSignal): Promise<VocabularyReportJson> =>
      parseAnswer(await send('GET', 'vocabulary', signal)),
    keys: async (signal: AbortSignal): Promise<readonly ApiKeyJson[]> =>
      parseAnswer(await send('GET', 'admin/api-keys', signal)),
    mint: async (request: KeyRequest, signal: AbortSignal): Promise<MintedKeyJson> =>
      parseAnswer(await send('POST', 'admin/api-keys', signal, request)),
    blocks: async (signal: AbortSignal): Promise<readonly BlockJson[]> =>
      parseAnswer(await send('GET', 'admin/blocks', signal)),
    unblock: (id: number, signal: AbortSignal) => send('DELETE', `admin/blocks/${id}`, signal),
    /** Oldest first. */
    audit: async (signal: AbortSignal): Promise<readonly AuditEntryJson[]> =>
      parseAnswer(await send('GET', 'admin/audit', signal)),
    revoke: (id: number, signal: AbortSignal) => send('DELETE', `admin/api-keys/${id}`, signal),
  }
}

/** Aborted when the component is removed. */
export function useLifetime(): AbortSignal {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

/** What is listed once a minute and when the function is called: `null` before the first answer. Then why the latest one failed. */
export function useMinutely<Listed>(
  load: (signal: AbortSignal) => Promise<Listed>,
  { onError, now }: Pick<MinutelyProps, 'onError' | 'now'>,
): [listed: Listed | null, list: () => Promise<void>, failure: string] {
  const [listed, setListed] = useState<Listed | null>(null)
  const [failure, setFailure] = useState('')
  const lifetime = useLifetime()
  const lists = useRef(0)
  /** The latest list counts: an older one lacks what was done since. */
  const list = async (): Promise<void> => {
    const turn = ++lists.current
    try {
      const answer = await load(lifetime)
      if (turn !== lists.current) return
      setListed(answer)
      setFailure('')
    } catch (error) {
      if (!lifetime.aborted) setFailure(onError(error))
    }
  }
  const minute = Math.floor(now / 60_000) || 0
  useEffect(() => void list(), [load, minute])
  return [listed, list, failure]
}

type DayProps = { of: string | null; none?: string }

/** Timestamps are UTC without a suffix. */
export const Day = ({ of, none }: DayProps) =>
  of === null
    ? html`${none}`
    : html`<time datetime=${`${of}Z`} title=${`${of.slice(0, 16).replace('T', ' ')} UTC`}>${of.slice(0, 10)}</time>`

const NEWS_MS = 15_000

/** What an action has done, for a while. */
export function useNews(): [news: string, setNews: (news: string) => void] {
  const [news, setNews] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setNews(''), NEWS_MS)
    return () => clearTimeout(timer)
  }, [news])
  return [news, setNews]
}

/** Runs actions and gives what the last one has done, or why it failed. */
export function useAction(onError: PanelProps['onError']) {
  const [news, setNews] = useNews()
  const lifetime = useLifetime()
  const act = async (what: string, action: () => Promise<string>): Promise<void> => {
    setNews('') // the same words again are news
    try {
      setNews(await action())
    } catch (error) {
      if (!lifetime.aborted) setNews(`${what} failed: ${onError(error)}`)
    }
  }
  return { news, act }
}
