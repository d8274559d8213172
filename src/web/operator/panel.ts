import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { KeyScope } from '../../domain/api-key.ts'
import type { ApiKeyJson, MintedKeyJson } from '../../wire/api-key.ts'
import type { FleetJson, ReloadResultJson } from '../../wire/fleet.ts'
import type { SourceDetailsJson } from '../../wire/source.ts'
import type { VocabularyReportJson } from '../../wire/vocabulary.ts'
import { parseAnswer, request } from '../common/gateway.ts'
import { html } from '../html.ts'

export type PanelProps = {
  api: ReturnType<typeof createAdminApi>
  onError: (error: unknown) => string
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

export type KeyRequest = { name: string; scope: KeyScope; expires_in_days: number | null }

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
    revoke: (id: number, signal: AbortSignal) => send('DELETE', `admin/api-keys/${id}`, signal),
  }
}

/** Aborted when the component is removed. */
export function useLifetime(): AbortSignal {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

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
