import { useEffect, useState } from 'preact/hooks'
import { readView, type View, writeView } from './view.ts'

export function useView(): [view: View, go: (view: View) => void] {
  const [view, setView] = useState(() => readView(location))
  useEffect(() => {
    const read = (): void => setView(readView(location))
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  const go = (next: View): void => {
    history.pushState(null, '', writeView(next))
    setView(next)
  }
  return [view, go]
}
