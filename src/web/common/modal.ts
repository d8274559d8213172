import { useEffect, useRef } from 'preact/hooks'

/** Of a dialog that is shown as long as it is in the document. Its removal gives the focus back, as closing does. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const opener = document.activeElement as HTMLElement
    dialog.current!.showModal()
    return () => {
      if (document.activeElement === document.body) opener.focus({ preventScroll: true })
    }
  }, [])
  return dialog
}
