import { actionsOf, GUARD_ACTIONS, GUARD_NAMES, GUARDS, type GuardAction, type GuardName } from '../api/guards.ts';
import { FieldGroup, SelectInput, TextInput } from '../ui/fields.tsx';
import { Options } from '../ui/options.tsx';
import type { InputOf } from './field.ts';

type Value = Readonly<Partial<Record<GuardName, { limit: number; action: GuardAction }>>>;

/** The guards of a metric; a guard without a limit is not set, and `null` means none. */
export function GuardInputs({ label, hint, value, onChange, problem }: InputOf<Value, Value | null>) {
  const set = (name: GuardName, guard: Value[GuardName]): void => {
    const { [name]: _, ...others } = value;
    const changed = guard === undefined ? others : { ...others, [name]: guard };
    onChange(Object.keys(changed).length === 0 ? null : changed);
  };
  return (
    <FieldGroup label={label} hint={hint} problem={problem}>
      {GUARD_NAMES.map((name) => {
        const guard = value[name];
        const text = name === 'minSecondsBetween' ? `${GUARDS[name]}, seconds` : GUARDS[name];
        return (
          <div
            key={name}
            className="grid grid-cols-[minmax(0,1fr)_11.5rem] items-center gap-x-2 gap-y-1 sm:grid-cols-[1fr_7rem_11rem]"
          >
            <span className="col-span-2 first-letter:uppercase sm:col-span-1">{text}</span>
            <TextInput
              type="number"
              step="any"
              placeholder="none"
              aria-label={`Limit: ${text}`}
              aria-invalid={problem?.includes(`guards.${name}.`) === true}
              value={guard?.limit ?? ''}
              onChange={({ target }) =>
                set(
                  name,
                  target.value === ''
                    ? undefined
                    : { limit: Number(target.value), action: guard?.action ?? 'quarantine' },
                )
              }
            />
            <SelectInput
              aria-label={`Beyond it: ${text}`}
              className="disabled:opacity-50"
              disabled={guard === undefined}
              value={guard?.action ?? 'quarantine'}
              onChange={({ target }) =>
                guard !== undefined && set(name, { ...guard, action: target.value as GuardAction })
              }
            >
              <Options of={actionsOf(name).map((action) => [action, GUARD_ACTIONS[action]])} />
            </SelectInput>
          </div>
        );
      })}
    </FieldGroup>
  );
}
