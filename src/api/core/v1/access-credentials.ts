// Access credentials: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsArray, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

export type ConfigDriveSSHPublicKeyAccessCredentialPropagation = Record<string, never>;

export type NoCloudSSHPublicKeyAccessCredentialPropagation = Record<string, never>;

export class QemuGuestAgentSSHPublicKeyAccessCredentialPropagation {
  @IsArray()
  @IsString({ each: true })
  @JSONSchema({ 'x-kubernetes-list-type': 'set' })
  users!: string[];
}

export class SSHPublicKeyAccessCredentialPropagationMethod {
  @IsObject()
  @IsOptional()
  configDrive?: ConfigDriveSSHPublicKeyAccessCredentialPropagation;
  @IsObject()
  @IsOptional()
  noCloud?: NoCloudSSHPublicKeyAccessCredentialPropagation;
  @ValidateNested()
  @Type(() => QemuGuestAgentSSHPublicKeyAccessCredentialPropagation)
  @IsOptional()
  qemuGuestAgent?: QemuGuestAgentSSHPublicKeyAccessCredentialPropagation;
}

export class AccessCredentialSecretSource {
  @IsString()
  secretName!: string;
}

export class SSHPublicKeyAccessCredentialSource {
  @ValidateNested()
  @Type(() => AccessCredentialSecretSource)
  @IsOptional()
  secret?: AccessCredentialSecretSource;
}

export class SSHPublicKeyAccessCredential {
  @ValidateNested()
  @Type(() => SSHPublicKeyAccessCredentialPropagationMethod)
  propagationMethod!: SSHPublicKeyAccessCredentialPropagationMethod;
  @ValidateNested()
  @Type(() => SSHPublicKeyAccessCredentialSource)
  source!: SSHPublicKeyAccessCredentialSource;
}

export type QemuGuestAgentUserPasswordAccessCredentialPropagation = Record<string, never>;

export class UserPasswordAccessCredentialPropagationMethod {
  @IsObject()
  @IsOptional()
  qemuGuestAgent?: QemuGuestAgentUserPasswordAccessCredentialPropagation;
}

export class UserPasswordAccessCredentialSource {
  @ValidateNested()
  @Type(() => AccessCredentialSecretSource)
  @IsOptional()
  secret?: AccessCredentialSecretSource;
}

export class UserPasswordAccessCredential {
  @ValidateNested()
  @Type(() => UserPasswordAccessCredentialPropagationMethod)
  propagationMethod!: UserPasswordAccessCredentialPropagationMethod;
  @ValidateNested()
  @Type(() => UserPasswordAccessCredentialSource)
  source!: UserPasswordAccessCredentialSource;
}

export class AccessCredential {
  /** Public keys for users of the guest. */
  @ValidateNested()
  @Type(() => SSHPublicKeyAccessCredential)
  @IsOptional()
  sshPublicKey?: SSHPublicKeyAccessCredential;
  /** Passwords of users of the guest. */
  @ValidateNested()
  @Type(() => UserPasswordAccessCredential)
  @IsOptional()
  userPassword?: UserPasswordAccessCredential;
}
