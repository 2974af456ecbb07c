import { Labelled, SelectInput, TextInput } from '../../ui/fields.tsx';
import { UserInput } from '../../ui/user-input.tsx';

/** A device or a user's devices. */
export interface Devices {
  by: 'user' | 'token';
  value: string;
}

/** Asks to which devices a test is sent. */
export const DeviceInput = ({ of, onChange }: { of: Devices; onChange: (devices: Devices) => void }) => (
  <div className="grid gap-3 sm:grid-cols-2">
    <Labelled label="Send a test to">
      <SelectInput value={of.by} onChange={({ target }) => onChange({ by: target.value as Devices['by'], value: '' })}>
        <option value="user">the devices of a user</option>
        <option value="token">a device</option>
      </SelectInput>
    </Labelled>
    {of.by === 'user' ? (
      <UserInput
        label="User with the devices"
        hint="Your own user in the app. Type the beginning of an ID or name."
        value={of.value}
        onChange={(value) => onChange({ ...of, value })}
      />
    ) : (
      <Labelled label="Token of the device" hint="As the app stores it in the user’s deviceTokens.">
        <TextInput
          required
          autoComplete="off"
          spellCheck={false}
          value={of.value}
          onChange={({ target }) => onChange({ ...of, value: target.value })}
        />
      </Labelled>
    )}
  </div>
);
