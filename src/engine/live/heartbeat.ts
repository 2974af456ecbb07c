/** Seconds between signs of life on a stream on which nothing happens. */
export const HEARTBEAT_S = 25;
