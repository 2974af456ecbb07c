import { repeatText, type Repeat } from '../rule-text.ts';
import { Labelled, SelectInput, TextInput } from '../ui/fields.tsx';
import { Options } from '../ui/options.tsx';
import type { InputOf } from './field.ts';

const PERIODS = ['daily', 'weekly', 'monthly'] as const;
/** Days of a new period of days. */
const FIRST_DAYS = 2;

type RepeatInputProps = InputOf<Repeat | undefined> & { disabled: boolean };

/** How often users complete an achievement; not set: once. */
export function RepeatInput({ label, hint, value, onChange, problem, disabled }: RepeatInputProps) {
  const isDays = typeof value === 'object';
  const choose = (chosen: string): void => {
    if (chosen === 'days') onChange({ days: FIRST_DAYS });
    else onChange(PERIODS.find((period) => period === chosen));
  };
  return (
    <Labelled label={label} hint={hint} problem={problem}>
      <span className="flex items-center gap-2">
        <SelectInput
          aria-label={label}
          disabled={disabled}
          value={isDays ? 'days' : (value ?? '')}
          onChange={({ target }) => choose(target.value)}
        >
          <option value="">once</option>
          <Options of={PERIODS.map((period) => [period, repeatText(period)])} />
          <option value="days">every … days</option>
        </SelectInput>
        {isDays && (
          <TextInput
            type="number"
            min={1}
            step={1}
            aria-label="Days"
            disabled={disabled}
            value={value.days}
            onChange={({ target }) => onChange({ days: Number(target.value) })}
          />
        )}
      </span>
    </Labelled>
  );
}
