import type { Family } from '../metrics/series.ts';

/** A child of a supervisor. */
export interface SupervisedState {
  name: string;
  isUp: boolean;
  /** How often it was started again. */
  restarts: number;
}

/** What a supervisor knows of its children. */
export const supervisedFamilies = (children: readonly SupervisedState[]): Family[] => [
  {
    name: 'laurel_process_up',
    help: 'Whether a process of this supervisor runs: 1 or 0.',
    type: 'gauge',
    values: children.map(({ name, isUp }) => ({ labels: { process: name }, value: Number(isUp) })),
  },
  {
    name: 'laurel_process_restarts_total',
    help: 'How often a process ended by itself and was started again.',
    type: 'counter',
    values: children.map(({ name, restarts }) => ({ labels: { process: name }, value: restarts })),
  },
];
