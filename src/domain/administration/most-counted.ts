/** Attention counts messages and events no further. Apart from the schemas, so that the console gets the number alone. */
export const MOST_COUNTED = 10_000;
