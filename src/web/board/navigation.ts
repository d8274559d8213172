import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { canChoose } from './filters/controls.ts'
import { readView, type View, withUsualOrder, withValue, writeView } from './view.ts'

export type Navigation = {
  view: View
  /** The address of a changed view. Another query begins on its first page. */
  urlOf: (change: Partial<View>) => string
  /** Successive changes by one control are one step of the history. */
  go: (change: Partial<View>, control?: string) => void
  /** Goes back if the dialog was opened here, so that Back does not open it again. */
  close: () => void
}

type HistoryState = { control?: string | undefined; isOpened?: boolean } | null

const NOTHING_OPEN = { open: null, compared: [] }

export function useNavigation(): Navigation {
  const [view, setView] = useState(() => readView(location))
  useEffect(() => {
    const read = (): void => setView(readView(location))
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  return useMemo(() => {
    const changed = (change: Partial<View>): View => ({
      ...view,
      ...NOTHING_OPEN,
      ...(change.query !== undefined && { page: 1 }),
      ...change,
      query: withUsualOrder(change.query ?? view.query),
    })
    const show = (next: View, state: HistoryState, isReplaced: boolean): void => {
      history[isReplaced ? 'replaceState' : 'pushState'](state, '', writeView(next))
      setView(next)
    }
    const current = (): HistoryState => history.state
    return {
      view,
      urlOf: (change) => writeView(changed(change)),
      go: (change, control) =>
        show(
          changed(change),
          { control, isOpened: change.open != null || change.compared !== undefined },
          control !== undefined && current()?.control === control,
        ),
      close: () => (current()?.isOpened ? history.back() : show(changed({}), null, true)),
    }
  }, [view])
}

type ViewLinkProps = {
  navigation: Navigation
  change: Partial<View>
  control?: string
  class?: string
  title?: string
  label?: string
  children?: ComponentChildren
}

/** A plain click changes the view here, any other follows the link as the browser does. */
export const ViewLink = ({ navigation, change, control, label, children, ...more }: ViewLinkProps) =>
  html`<a
    href=${navigation.urlOf(change)}
    aria-label=${label}
    ...${more}
    onClick=${(event: MouseEvent) => {
      if (!isPlainClick(event)) return
      event.preventDefault()
      navigation.go(change, control)
    }}
  >${children}</a>`

const isPlainClick = ({ button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent): boolean =>
  button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey

type NarrowProps = {
  navigation: Navigation
  /** The parameter. */
  name: string
  value: string | null
  text?: string
}

/** A value that narrows the search to it. */
export function Narrow({ navigation, name, value, text }: NarrowProps) {
  if (value === null) return html`<span>–</span>`
  const words = text ?? untrustedText(value)
  // A source of another gateway comes with that gateway.
  const isSelectable = canChoose(value) && (name !== 'sources' || !/[/,]/.test(value))
  if (!isSelectable) return html`<bdi title=${words}>${words}</bdi>`
  const change = { query: withValue(navigation.view.query, name, value) }
  return html`<${ViewLink} ...${{ navigation, change }} class="narrow" title=${untrustedText(value)}><bdi>${words}</bdi><//>`
}
