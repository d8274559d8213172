export const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

/** Accepts base units of a token, by default of USDC on Base by the hour. Buyers do not believe its own symbol. */
export const escrow = (value: unknown, { chain = 'base', token = USDC, per = 'hour' } = {}) => ({
  chain_name: chain,
  literal_fields: { token, symbol: 'FREE' },
  rates: [{ field: 'amount', per, value }],
})
