const NARROW = matchMedia('(max-width: 50rem)')

/** A phone: panels start folded there, since they would hide the listings. */
export const isNarrow = (): boolean => NARROW.matches
