import type { UpstreamOptions } from '../domain/upstream.ts'
import { ACCEPT_ENCODING } from './read-body.ts'

/** What every request to an upstream carries: its bearer key, which goes nowhere else, and what we can read. */
export const requestHeaders = ({ key }: Pick<UpstreamOptions, 'key'>): Record<string, string> => ({
  accept: 'application/json',
  'accept-encoding': ACCEPT_ENCODING,
  'user-agent': 'entrepot',
  ...(key === null ? {} : { authorization: `Bearer ${key}` }),
})
