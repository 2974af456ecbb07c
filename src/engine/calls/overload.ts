import { AppError } from '../../errors.ts';

/** That too much waits to be stored or processed. */
export class Overload extends AppError {
  constructor(text: string) {
    super('unavailable', text);
  }
}

/** Throws 503 while the outbox holds more than it may, so that nothing that writes to it is taken. */
export function refuseOverload(overloaded: () => boolean): void {
  if (overloaded()) throw new Overload('Too many events wait to be stored; try again in a moment.');
}
