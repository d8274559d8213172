import { html } from '../html.ts'

export type ToneName = 'good' | 'warn' | 'bad' | 'neutral'

/** Words with a mark whose shape and colour say how good they are. */
export const Tone = ({ of, text }: { of: ToneName; text: string }) =>
  html`<span class="tone" data-tone=${of} style=${of === 'neutral' ? undefined : { '--tone': `var(--${of})` }}>${text}</span>`

const SOURCE_STATES: Readonly<Record<string, readonly [text: string, tone: ToneName]>> = {
  loaded: ['OK', 'good'],
  stale: ['cached copy', 'warn'],
  loading: ['loading', 'neutral'],
  partial: ['in part', 'warn'],
  unavailable: ['unavailable', 'bad'],
  not_yet_loaded: ['not loaded yet', 'neutral'],
  skipped: ['skipped', 'warn'],
}

export const stateWords = (state: string): string => SOURCE_STATES[state]?.[0] ?? state

export const SourceState = ({ state }: { state: string }) =>
  html`<${Tone} of=${SOURCE_STATES[state]?.[1] ?? 'bad'} text=${stateWords(state)} />`
