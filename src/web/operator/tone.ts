import { html } from '../html.ts'

export type ToneName = 'good' | 'warn' | 'bad' | 'neutral'

export const Tone = ({ of, text }: { of: ToneName; text: string }) =>
  html`<span class="tone" data-tone=${of}>${text}</span>`
