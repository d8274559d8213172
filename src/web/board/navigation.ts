import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { html } from '../html.ts'
import { type OpenListing, type Query, readView, type View, writeView } from './view.ts'

export type Navigation = {
  view: View
  /** The address of the first page of a query. */
  urlOf: (query: Query) => string
  /** Successive changes by one control are one step of the history. */
  search: (query: Query, control?: string) => void
  turn: (page: number) => void
  urlOfListing: (listing: OpenListing) => string
  open: (listing: OpenListing) => void
  /** Goes back if the sheet was opened here, so that Back does not open it again. */
  close: () => void
}

type HistoryState = { control?: string; isOpened?: boolean } | null

export function useNavigation(): Navigation {
  const [view, setView] = useState(() => readView(location))
  useEffect(() => {
    const read = (): void => setView(readView(location))
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  return useMemo(() => {
    const go = (next: View, state: HistoryState, isReplaced = false): void => {
      history[isReplaced ? 'replaceState' : 'pushState'](state, '', writeView(next))
      setView(next)
    }
    const current = (): HistoryState => history.state
    const ofQuery = (query: Query): View => ({ query, page: 1, open: null })
    return {
      view,
      urlOf: (query) => writeView(ofQuery(query)),
      search: (query, control) =>
        go(
          ofQuery(query),
          control === undefined ? null : { control },
          control !== undefined && current()?.control === control,
        ),
      turn: (page) => go({ ...view, page }, null),
      urlOfListing: (open) => writeView({ ...view, open }),
      open: (open) => go({ ...view, open }, { isOpened: true }),
      close: () => (current()?.isOpened ? history.back() : go({ ...view, open: null }, null, true)),
    }
  }, [view])
}

type ActionLinkProps = {
  href: string
  onFollow: () => void
  class?: string
  title?: string
  label?: string
  children?: ComponentChildren
}

/** A link within the page: a plain click follows it here, any other as the browser does. */
export const ActionLink = ({ href, onFollow, label, children, ...more }: ActionLinkProps) =>
  html`<a
    href=${href}
    aria-label=${label}
    ...${more}
    onClick=${(event: MouseEvent) => {
      if (!isPlainClick(event)) return
      event.preventDefault()
      onFollow()
    }}
  >${children}</a>`

const isPlainClick = ({ button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent): boolean =>
  button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey
