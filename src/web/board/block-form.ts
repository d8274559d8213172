import { useState } from 'preact/hooks'
import { request, toProblemError } from '../common/gateway.ts'
import { OPERATOR_KEY, readKey } from '../common/key-form.ts'
import { SelectBox } from '../common/select-box.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import type { ListingRow } from './state/listing-row.ts'

type BlockFormProps = { row: ListingRow; onBlocked: () => void }

/** Shown after a sign-in on the operator's page in this tab. */
export function BlockForm({ row, onBlocked }: BlockFormProps) {
  const key = readKey(OPERATOR_KEY)
  const subjects = subjectsOf(row)
  const [chosen, setChosen] = useState(subjects[0]?.[0] ?? '')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  if (key === null || subjects.length === 0) return null
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const reason = String(new FormData(event.currentTarget as HTMLFormElement).get('reason')).trim()
    setProblem(reason === '' ? 'Enter a reason.' : '')
    if (reason === '' || isBusy) return
    setBusy(true)
    try {
      const body = JSON.stringify({ subject: chosen, reason })
      await request('admin/blocks', key, { method: 'POST', body })
      onBlocked()
    } catch (cause) {
      setProblem(`It is not blocked: ${toProblemError(cause).message}`)
      setBusy(false)
    }
  }
  return html`<h3>Operator</h3>
    <form class="row" onSubmit=${submit}>
      <${SelectBox} label="What to block" options=${subjects} value=${chosen} onChange=${setChosen} />
      <label class="row">
        <span>Reason</span>
        <input name="reason" maxlength="500" autocomplete="off" aria-invalid=${problem !== ''} aria-describedby="block-hint" />
      </label>
      <button type="submit" class="danger" aria-disabled=${isBusy ? 'true' : undefined}>Block</button>
      <span id="block-hint" role="alert" class=${problem === '' ? 'hint' : 'fault'}>
        ${problem || 'On every page at once. The blocked seller reads the reason.'}
      </span>
    </form>`
}

/** The listing first: it takes least away. A plain Registry names no address. */
function subjectsOf({ address, id, storefrontUrl }: ListingRow): [subject: string, text: string][] {
  const storefront = storefrontUrl === null ? null : withoutQuery(storefrontUrl)
  return [
    ...(address === null
      ? []
      : ([
          [`${address}/${id}`, 'this listing'],
          [address, `every listing of ${untrustedText(address)}`],
        ] as [string, string][])),
    ...(storefront === null
      ? []
      : ([[storefront, `the storefront ${untrustedText(storefront)}`]] as [string, string][])),
  ]
}

function withoutQuery(text: string): string | null {
  const url = URL.parse(text)
  return url === null ? null : `${url.origin}${url.pathname}`
}
