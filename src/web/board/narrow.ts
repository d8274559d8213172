const NARROW = matchMedia('(max-width: 50rem)')

/** A phone, where what stands beside the listings would hide them: it begins folded there. */
export const isNarrow = (): boolean => NARROW.matches
