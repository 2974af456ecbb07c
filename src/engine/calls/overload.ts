import { AppError } from '../../errors.ts';

/** Throws 503 while the outbox holds more than it may, so that nothing that writes to it is taken. */
export function refuseOverload(overloaded: () => boolean): void {
  if (overloaded()) throw new AppError('unavailable', 'Too many events wait to be stored; try again in a moment.');
}
